// Command methods prints what templates make of methods that a released program has, and of those that it has not.
package main

import (
	"fmt"
	"os"
	"text/template"
	"time"
)

// whole has no method but those that are kept.
type whole map[string]string

func (whole) String() string { return "whole" }

// part has one more.
type part map[string]string

func (part) String() string   { return "part" }
func (part) Unlisted() string { return "called" }

type outer struct {
	inner

	Direct string
}

type inner struct{ Promoted string }

func (*outer) Unlisted() string { return "called" }

func main() {
	values := map[string]any{
		"time": time.Unix(0, 0).UTC(), "whole": whole{"Key": "value", "String": "hidden"}, "nil": (*outer)(nil),
		"part": part{"Key": "value", "key": "value", "Unlisted": "hidden"}, "struct": outer{Direct: "value"}, "pointer": &outer{inner: inner{"value"}},
	}
	for _, text := range []string{
		".time.Year", ".time.Absent", ".whole.String", ".whole.Key", ".whole.Absent", ".part.String", ".part.key",
		".part.Key", ".part.Unlisted", ".struct.Direct", ".struct.Unlisted", ".pointer.Promoted", ".pointer.Unlisted", ".nil.Direct", ".nil.Unlisted",
	} {
		err := template.Must(template.New("").Parse(text+" {{"+text+"}}")).Execute(os.Stdout, values)
		fmt.Println("", err)
	}
}
