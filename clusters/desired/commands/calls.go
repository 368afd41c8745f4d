package commands

import (
	"regexp"
	"strings"
)

// calls are those of the functions of a program, each looked for once: a program may be long, with the modules that it imports.
type calls struct {
	text string
	// parameters are the names of functions by each word among their parameters, and known the functions that were looked for.
	parameters map[string][]string
	known      map[string]bool
}

var (
	functionDefined = regexp.MustCompile(`(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(([^)]*)`)
	word            = regexp.MustCompile(`\w+`)
	arguments       = regexp.MustCompile(`^[ \t]*\((?:[^()]|\([^()]*\))*\)`)
)

func callsIn(text string) *calls {
	c := &calls{text: text, parameters: map[string][]string{}, known: map[string]bool{}}
	for _, found := range functionDefined.FindAllStringSubmatch(text, -1) {
		for _, parameter := range word.FindAllString(found[2], -1) {
			c.parameters[parameter] = append(c.parameters[parameter], found[1])
		}
	}
	return c
}

// with are the calls of the functions that have a parameter of some name, but for those that were found before.
func (c *calls) with(parameter string) (found []string) {
	for _, function := range c.parameters[parameter] {
		if c.known[function] {
			continue
		}
		c.known[function] = true
		for from := 0; ; {
			at := strings.Index(c.text[from:], function)
			if at < 0 {
				break
			}
			begin, end := from+at, from+at+len(function)
			from = end
			if begin > 0 && word.MatchString(c.text[begin-1:begin]) {
				continue // the end of another name
			}
			if given := arguments.FindString(c.text[end:]); given != "" {
				line := strings.LastIndexByte(c.text[:begin], '\n') + 1
				found = append(found, c.text[line:end+len(given)])
			}
		}
	}
	return found
}
