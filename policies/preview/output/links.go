package output

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
)

// Links is where the files of the repository can be read: an address with {file} and {line} in it, for example
// https://git.example.com/team/repo/blob/SHA/{file}#L{line}. Empty is for links relative to the root of the repository.
type Links string

// to is the address of a place, empty if it has no file.
func (l Links) to(p finding.Place) string {
	if p.File == "" {
		return ""
	}
	segments := strings.Split(clean(p.File), "/")
	for i, segment := range segments {
		segments[i] = strings.NewReplacer("&", "%26", ":", "%3A", "@", "%40").Replace(url.PathEscape(segment))
	}
	file := strings.Join(segments, "/")
	if l == "" {
		return "./" + file
	}
	template := string(l)
	if p.Line == 0 {
		template, _, _ = strings.Cut(template, "#") // there is no line to go to
	}
	return strings.NewReplacer("{file}", file, "{line}", strconv.Itoa(p.Line)).Replace(template)
}
