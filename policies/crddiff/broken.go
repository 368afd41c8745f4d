package crddiff

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// mostNested is how deep a manifest may be nested: two levels for each of a schema's, and some around them. Decoding
// what is nested deeper takes time by the square of it.
const mostNested = 2*mostLevels + 50

// shallow refuses what is nested too deep to be a CRD.
func shallow(content any) error {
	if path, deep := deeper(content, mostNested); deep {
		return fmt.Errorf("%s is nested more than %d levels deep", cut(strings.TrimPrefix(path, ".")), mostNested)
	}
	return nil
}

func deeper(content any, left int) (string, bool) {
	if left == 0 {
		return "", true
	}
	switch content := content.(type) {
	case map[string]any:
		for _, key := range sortedKeys(content) {
			if path, deep := deeper(content[key], left-1); deep {
				return "." + key + path, true
			}
		}
	case []any:
		for i, item := range content {
			if path, deep := deeper(item, left-1); deep {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
		}
	}
	return "", false
}

// broken says which field of a CRD cannot be read. The decoder's own error names a version's fields without the version,
// and none of a schema's: so the smallest part that cannot be read is looked for.
func broken(content map[string]any, err error) error {
	spec, ok := content["spec"].(map[string]any)
	if !ok {
		return reason("spec", err)
	}
	all, ok := spec["versions"].([]any)
	if !ok && spec["versions"] != nil {
		return errors.New("spec.versions is not a list")
	}
	for i, one := range all {
		var version apiextensionsv1.CustomResourceDefinitionVersion
		at := fmt.Sprintf("spec.versions[%d]", i)
		if err := into(one, &version); err != nil {
			return brokenVersion(at, one, err)
		}
	}
	return reason("", err)
}

func brokenVersion(at string, content any, err error) error {
	version, ok := content.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is not an object", at)
	}
	if name, ok := version["name"].(string); ok {
		at += " (" + name + ")"
	}
	around, ok := version["schema"].(map[string]any)
	if !ok {
		return reason(at, err)
	}
	if bad := into(around["openAPIV3Schema"], &schema{}); bad != nil {
		return brokenSchema(at+": schema.openAPIV3Schema", around["openAPIV3Schema"], bad)
	}
	return reason(at, err)
}

// brokenSchema goes down for as long as something below cannot be read by itself.
func brokenSchema(at string, content any, err error) error {
	object, ok := content.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is not an object", at)
	}
	for _, keyword := range sortedKeys(object) {
		switch below := object[keyword].(type) {
		case map[string]any:
			if keyword == "items" || keyword == "additionalProperties" || keyword == "not" {
				if err := into(below, &schema{}); err != nil {
					return brokenSchema(at+"."+keyword, below, err)
				}
				continue
			}
			if keyword != "properties" && keyword != "patternProperties" && keyword != "definitions" {
				continue
			}
			for _, name := range sortedKeys(below) {
				if err := into(below[name], &schema{}); err != nil {
					return brokenSchema(at+"."+keyword+"."+name, below[name], err)
				}
			}
		case []any:
			if keyword != "allOf" && keyword != "anyOf" && keyword != "oneOf" {
				continue
			}
			for i, one := range below {
				if err := into(one, &schema{}); err != nil {
					return brokenSchema(fmt.Sprintf("%s.%s[%d]", at, keyword, i), one, err)
				}
			}
		}
	}
	return reason(at, err)
}

// decoders is how Go's decoder says which of its types it wanted.
var decoders = regexp.MustCompile(`cannot unmarshal (\S+) into Go (?:struct field \S*?\.(\S+)|value) of type (\S+)`)

// reason is a decoder's error without Go in it.
func reason(at string, err error) error {
	found := decoders.FindStringSubmatch(err.Error())
	if found == nil {
		if at == "" {
			return err
		}
		return fmt.Errorf("%s: %w", at, err)
	}
	got, field, want := found[1], found[2], kindOf(found[3])
	path := strings.Trim(at+"."+field, ".")
	return fmt.Errorf("%s is %s and has to be %s", path, article(got), want)
}

func kindOf(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "map"):
		return "an object"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "float"):
		return "a number"
	case goType == "string", strings.HasSuffix(goType, "Type"), strings.HasSuffix(goType, "Scope"), strings.HasSuffix(goType, "URL"):
		return "a string"
	default:
		return "an object"
	}
}

func article(kind string) string {
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}
