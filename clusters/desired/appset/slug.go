package appset

import (
	"fmt"
	"regexp"
	"strings"
)

// mostOfSlug is how long a slug is unless a template says otherwise.
const mostOfSlug = 50

var notInSlugs = regexp.MustCompile(`[^a-z0-9_]+`)

// slugified is a name as a part of an address: slugify NAME, slugify LENGTH NAME, or slugify LENGTH WHOLE-WORDS NAME.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/GoTemplate/
func slugified(args ...any) (string, error) {
	most, wholeWords, name := mostOfSlug, true, ""
	for i, arg := range args {
		var fits bool
		switch i {
		case len(args) - 1:
			name, fits = arg.(string)
		case 0:
			most, fits = arg.(int)
		case 1:
			wholeWords, fits = arg.(bool)
		}
		if !fits {
			return "", fmt.Errorf("slugify does not take %v there", arg)
		}
	}
	slug := normalized(name)
	if !wholeWords && most >= 0 && len(slug) >= most {
		slug = slug[:most]
	}
	slug = strings.Trim(notInSlugs.ReplaceAllString(slug, "-"), "-_")
	if !wholeWords || most <= 0 || len(slug) <= most {
		return slug, nil
	}
	if end := strings.LastIndex(slug[:most+1], "-"); end >= 0 {
		return slug[:end], nil
	}
	return slug[:most], nil
}
