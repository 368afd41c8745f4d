package appset

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/moult-dev/moult/policies/delivery"
)

// matching are the files that a git generator reads. Argo CD matches them as Git does, where * reaches over slashes, unless
// --enable-new-git-file-globbing has it match as others do.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Git-File-Globbing/
func matching(patterns []*delivery.Object) (func(string) bool, error) {
	for _, pattern := range patterns {
		if text := pattern.Text("path"); isTemplated(text) {
			return nil, fmt.Errorf("its generator reads %s, which is a template", text)
		}
	}
	return func(file string) bool {
		taken := false
		for _, pattern := range patterns {
			if fits(pattern.Text("path"), file) {
				if pattern.True("exclude") {
					return false
				}
				taken = true
			}
		}
		return taken
	}, nil
}

// fits takes a file that matches in either way: an Application too many is compared, and one that lacks is not.
func fits(pattern, file string) bool {
	matches, err := doublestar.Match(pattern, file)
	return err == nil && matches || asGit(pattern).MatchString(file)
}

// asGit is a pathspec of Git as a regular expression.
func asGit(pattern string) *regexp.Regexp {
	var expression strings.Builder
	for _, r := range pattern {
		switch r {
		case '*':
			expression.WriteString(".*")
		case '?':
			expression.WriteString(".")
		default:
			expression.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile("^" + expression.String() + "(/.*)?$")
}
