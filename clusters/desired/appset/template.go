package appset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// filler puts parameters into texts.
type filler struct {
	// isGo: the texts are Go templates; otherwise they have names between braces.
	isGo    bool
	options []string
}

func fillerOf(set *delivery.Object) filler {
	return filler{isGo: set.True("spec", "goTemplate"), options: set.Texts("spec", "goTemplateOptions")}
}

// name is what a template has between braces.
var name = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)

// text puts parameters into one text.
func (f filler) text(text string, given parameters) (filled string, err error) {
	if !isTemplated(text) {
		return text, nil
	}
	if f.isGo {
		return f.goText(text, given)
	}
	filled = name.ReplaceAllStringFunc(text, func(found string) string {
		value, known := given[name.FindStringSubmatch(found)[1]]
		if !known {
			err = fmt.Errorf("its template has %s, which is not known without a cluster", found)
		}
		return fmt.Sprint(value)
	})
	return filled, err
}

func (f filler) goText(text string, given parameters) (filled string, err error) {
	defer func() {
		if caught := recover(); caught != nil { // an option that Go does not know, or a function of sprig
			err = fmt.Errorf("its template fails: %v", caught)
		}
	}()
	parsed, err := template.New("").Funcs(functions).Option(f.options...).Parse(text)
	if err != nil {
		return "", fmt.Errorf("its template fails: %w", err)
	}
	var out limited
	if err := parsed.Execute(&out, map[string]any(given)); err != nil {
		return "", fmt.Errorf("its template fails: %w", err)
	}
	if strings.Contains(out.String(), "<no value>") {
		return "", fmt.Errorf("its template has %s, of which not all is known without a cluster", text)
	}
	return out.String(), nil
}

// limited is a text that does not grow for ever.
type limited struct{ strings.Builder }

const mostText = 1 << 20

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > mostText {
		return 0, errors.New("it makes too long a text")
	}
	return l.Builder.Write(p)
}

// functions are those of Argo CD's templates, but for those whose answer is another one each time.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/applicationset/utils/utils.go
var functions = func() template.FuncMap {
	all := template.FuncMap(sprig.GenericFuncMap())
	for _, kept := range []string{
		"env", "expandenv", "getHostByName", "now", "uuidv4", "randAlpha", "randAlphaNum", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle",
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "bcrypt", "htpasswd",
	} {
		delete(all, kept)
	}
	all["normalize"] = normalized
	all["slugify"] = slugified
	all["toYaml"] = func(value any) (string, error) {
		content, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(content), "\n"), err
	}
	all["fromYaml"] = fromYAML[map[string]any]
	all["fromYamlArray"] = fromYAML[[]any]
	return all
}()

func fromYAML[T any](text string) (value T, err error) {
	err = unpacking.Unmarshal([]byte(text), &value)
	return value, err
}

var notInNames = regexp.MustCompile(`[^-a-z0-9.]`)

// normalized is a text as a name of an object.
func normalized(text string) string {
	const longest = 253
	text = notInNames.ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(text[:min(longest, len(text))], "-.")
}

// fill puts parameters into all strings of a value, and into the keys.
func (f filler) fill(value any, given parameters) (any, error) {
	switch v := value.(type) {
	case string:
		return f.text(v, given)
	case []any:
		filled := make([]any, len(v))
		for i, item := range v {
			var err error
			if filled[i], err = f.fill(item, given); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case map[string]any:
		filled := map[string]any{}
		for key, item := range v {
			key, err := f.text(key, given)
			if err != nil {
				return nil, err
			}
			if filled[key], err = f.fill(item, given); err != nil {
				return nil, err
			}
		}
		return filled, nil
	}
	return value, nil
}
