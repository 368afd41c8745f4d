package output

import (
	"regexp"
	"strings"

	"github.com/moult-dev/moult/policies/words"
)

// prose is a sentence in which names and commands stand in backquotes.
type prose []fragment

// fragment is a part of prose, in the order in which they are read.
type fragment struct {
	Text string
	Code bool
}

var quoted = regexp.MustCompile("`[^`]+`")

// proseOf is text of somebody else's; only html/template makes it harmless.
func proseOf(s string) prose {
	s = plain(s)
	var all prose
	for s != "" {
		at := quoted.FindStringIndex(s)
		if at == nil {
			return append(all, fragment{Text: s})
		}
		if at[0] > 0 {
			all = append(all, fragment{Text: s[:at[0]]})
		}
		all = append(all, fragment{Text: strings.Trim(s[at[0]:at[1]], "`"), Code: true})
		s = s[at[1]:]
	}
	return all
}

func prosesOf(said []string) []prose {
	return words.Of(said, proseOf)
}
