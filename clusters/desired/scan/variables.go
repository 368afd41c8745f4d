package scan

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/files"
)

var (
	// givingVariables are files in which commands of other files may find the values of their variables.
	givingVariables = regexp.MustCompile(`/(?:[^/.]+|[^/]*[Mm]akefile[^/]*|[^/]*\.(?:mk|sh|bash|env)|\.env[^/]*|\.[^/]+/.*\.ya?ml|\.[^/]+\.ya?ml|[Tt]askfile\.ya?ml|(?:defaults|vars|group_vars|host_vars)/(?:.*/)?[^/]*\.ya?ml)$`)
	// including is what a pipeline or a Taskfile takes from other files, in files that may do so.
	including  = regexp.MustCompile(`(?m)^[ \t]*(?:-[ \t]+)*["']?(?:includes?|template|local|extends)["']?[ \t]*:[^\n]*(?:\n(?:[ \t]|- )[^\n]*)*`)
	mayInclude = regexp.MustCompile(`/(?:\.[^/]+/.*|\.[^/]+|[^/]*(?:pipelines?|gitlab-ci|[Tt]askfile)[^/]*)\.ya?ml$`)
	// ofPipeline is the name of such a file, or a pattern of several.
	ofPipeline = regexp.MustCompile(`[\w./*-]+\.ya?ml\b`)
	// fromModules asks Go for the version of a module, or for its folder.
	fromModules = regexp.MustCompile(`\b(?i:go)(?:["')}]|\.exe)*[ \t]+(?:list\b[^\n]*[ \t]-m\b|mod[ \t]+(?:download|edit|vendor)\b)[^\n|)]*`)
	ofModules   = regexp.MustCompile(`/[\w.-]+\.mod$`)
	// fromFile is what takes a value from a file.
	fromFile = regexp.MustCompile(`(?:\b(?:cat|yq|jq|grep|sed|awk|head|source)\b|<)[^\n|)]*`)
)

// given are the lines of a file that give a value to a variable, and those that these name, and the variables that have none there.
type given struct {
	file, lines string
	open        []string
}

// elsewhere are the lines of other files that give values to the variables of commands in a file, and what these read values from. An argument
// of a script is given where the script is named.
func (s *scan) elsewhere(file, text string, open []string) string {
	found := s.readFrom(file, text)
	known := map[string]bool{}
	for ; len(open) > 0 && len(known) < commands.MostVariables; open = open[1:] {
		name := open[0]
		if known[name] {
			continue
		}
		known[name] = true
		for _, given := range s.givenTo(file, name) {
			s.tree.Reads.File(given.file)
			found += given.lines + "\n" + s.readFrom(given.file, given.lines)
			open = append(open, given.open...)
		}
	}
	return found
}

// givenTo is where a variable gets values, or an argument of a script in a file.
func (s *scan) givenTo(file, name string) []given {
	argument := ""
	if _, err := strconv.Atoi(name); err == nil {
		argument = filepath.Base(file)
	}
	if known, is := s.given[name+" "+argument]; is {
		return known
	}
	var found []given
	calling := regexp.MustCompile(`(?m)^[^\n]*\b` + regexp.QuoteMeta(argument) + `\b[^\n]*`)
	for _, other := range slices.Concat(s.tree.Texts(givingVariables), s.pipelines()) {
		one := given{file: other.File}
		switch {
		case argument != "":
			if strings.Contains(other.Text, argument) { // as few do: it is cheap to see
				one.lines = strings.Join(calling.FindAllString(other.Text, -1), "\n")
			}
		case strings.Contains(other.Text, name):
			one.lines, one.open = commands.Definitions(other.Text, []string{"$(" + name + ")"})
		}
		if one.lines != "" {
			found = append(found, one)
		}
	}
	s.given[name+" "+argument] = found
	return found
}

// mostIncluded is how often files that are included may include others.
const mostIncluded = 10

// pipelines are the files that pipelines include, whatever their names are.
func (s *scan) pipelines() []files.Text {
	if s.included != nil {
		return *s.included
	}
	var named []string
	found := s.tree.Texts(mayInclude)
	for range mostIncluded {
		before := len(named)
		for _, one := range found {
			for _, name := range ofPipeline.FindAllString(strings.Join(including.FindAllString(one.Text, -1), "\n"), -1) {
				for _, dir := range []string{filepath.Dir(one.File), s.tree.Root} {
					if pattern := anyOf(filepath.Join(dir, filepath.FromSlash(name))); !slices.Contains(named, pattern) {
						named = append(named, pattern)
					}
				}
			}
		}
		if len(named) == before {
			break
		}
		found = s.tree.Texts(regexp.MustCompile("^(?:" + strings.Join(named, "|") + ")$"))
	}
	if len(named) == 0 {
		found = nil
	}
	s.included = &found
	return found
}

// anyOf is an expression for the files that a name with stars stands for.
func anyOf(name string) string {
	return strings.NewReplacer(`\*\*`, ".*", `\*`, "[^/]*").Replace(regexp.QuoteMeta(name))
}

// readFrom stands for the files that lines of a file read values from.
func (s *scan) readFrom(file, lines string) (found string) {
	for _, from := range s.namedIn(file, strings.Join(fromFile.FindAllString(lines, -1), "\n")) {
		if info, err := os.Stat(from); err == nil && info.Mode().IsRegular() {
			found += s.tree.Sum(from)
		}
	}
	if asking := fromModules.FindAllString(lines, -1); len(asking) > 0 {
		found += s.modules(asking)
	}
	return found
}

// modules are the lines of all go.mod about the modules that commands name, or all lines of those if one of the commands names none.
func (s *scan) modules(asking []string) string {
	var all, named strings.Builder
	unknown := map[string]bool{}
	for _, command := range asking {
		unknown[command] = true
	}
	for _, one := range s.tree.Texts(ofModules) {
		s.tree.Reads.File(one.File)
		for line := range strings.Lines(one.Text) {
			all.WriteString(line)
			for _, command := range asking {
				names := func(word string) bool { return strings.Contains(word, "/") && strings.Contains(command, word) }
				if slices.ContainsFunc(strings.Fields(line), names) {
					named.WriteString(line)
					unknown[command] = strings.Contains(command, "$") // there may be others
				}
			}
		}
	}
	if slices.Contains(slices.Collect(maps.Values(unknown)), true) {
		return all.String()
	}
	return named.String()
}
