package files

import (
	"os"
	"regexp"
	"strings"
)

// FailureOf is an error in one line, without the names of temporary folders.
func FailureOf(err error) string {
	return temporary.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "")
}

// temporary is the name of a folder that lives no longer than a build, or a revision that was written to disk.
var temporary = regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(os.TempDir(), "/")) + `/[^/ '"]+`)
