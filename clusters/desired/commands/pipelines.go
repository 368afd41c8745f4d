package commands

import (
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/policies/unpacking"
)

// pipeline is a file of YAML or JSON, while the scripts are read that its fields hold.
type pipeline struct {
	jobs []job
	// inJob: what is read belongs to the last job, and only under a condition if maybe is set.
	inJob, maybe bool
	// settings are those of all jobs.
	settings string
}

var (
	// ofReaders are fields that people read.
	ofReaders = regexp.MustCompile(`(?i)^(?:name|desc|description|displayName|summary|title|message|msg|help|usage|notes?|comment|documentation|.*\.md)$`)
	// ofArguments are fields with one command, as a list.
	ofArguments = []string{"command", "args", "entrypoint", "cmd", "exec"}
)

// jobsOfYAML are the jobs in a file. What belongs to none is the first.
func jobsOfYAML(text string) ([]job, error) {
	if err := unpacking.Bounded([]byte(text)); err != nil {
		return nil, err
	}
	p := &pipeline{jobs: []job{{text: text}}}
	for decoder := yaml.NewDecoder(strings.NewReader(masked(action.ReplaceAllString(text, "")))); ; {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return p.jobs, nil
		} else if err != nil {
			return nil, err
		}
		for _, key := range []string{"env", "variables"} {
			p.settings += asText(field(&document, key))
		}
		p.node("", &document)
	}
}

// node reads a field and what is below it.
func (p *pipeline) node(key string, n *yaml.Node) {
	switch n.Kind { //nolint:exhaustive // an alias is read where it is defined
	case yaml.MappingNode:
		p.mapping(n)
	case yaml.SequenceNode:
		p.list(key, n)
	case yaml.DocumentNode:
		p.node(key, n.Content[0])
	case yaml.ScalarNode:
		if text := unmasked(n.Value); mayRun(text) && !detect.CRD.MatchString(text) {
			p.add(parsed(text))
		}
	}
}

func (p *pipeline) add(statements []statement) {
	for i := range statements {
		statements[i].maybe = statements[i].maybe || p.maybe
	}
	at := &p.jobs[0]
	if p.inJob {
		at = &p.jobs[len(p.jobs)-1]
	}
	at.statements = append(at.statements, statements...)
}

// words adds a command that is given as a list.
func (p *pipeline) words(program string, args ...string) {
	words := append([]string{program}, args...)
	if len(args) == 0 {
		return
	}
	text := unmasked(strings.Join(words, " "))
	budget := mostRead * len(text)
	s := &script{budget: &budget}
	s.words(text, words)
	p.add(s.statements)
}

// list reads the items of a list: the arguments of one command, or commands, or more fields.
func (p *pipeline) list(key string, n *yaml.Node) {
	words := scalars(n)
	isCommand := slices.Contains(ofArguments, key) || !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, " ") })
	if len(words) > 1 && len(words) == len(n.Content) && isCommand {
		if mayRun(strings.Join(words, " ")) {
			p.words(words[0], words[1:]...)
		}
		return
	}
	for _, each := range n.Content {
		p.node("", each)
	}
}

// mapping reads fields. The outermost with steps or scripts are jobs.
func (p *pipeline) mapping(n *yaml.Node) {
	before := *p
	if !p.inJob && slices.ContainsFunc([]string{"steps", "script", "cmds"}, func(key string) bool { return field(n, key) != nil }) {
		p.jobs, p.inJob = append(p.jobs, job{text: asText(n) + p.settings}), true
	}
	p.maybe = p.maybe || field(n, "if") != nil || field(n, "when") != nil || field(n, "condition") != nil
	read := p.step(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; !ofReaders.MatchString(key) && !slices.Contains(read, key) {
			p.node(key, n.Content[i+1])
		}
	}
	p.inJob, p.maybe = before.inJob, before.maybe
}

// step adds what a mapping as a whole runs: an action of a pipeline with its settings, or a container. Read are its fields that this is made of.
func (p *pipeline) step(n *yaml.Node) (read []string) {
	for _, key := range []string{"uses", "task", "repository"} {
		if value := field(n, key); value != nil && value.Kind == yaml.ScalarNode && (key != "repository" || field(n, "ref") != nil) {
			p.words(key+":", append([]string{value.Value}, settingsOf(n)...)...)
		}
	}
	for _, key := range []string{"working-directory", "workingDirectory", "dir"} {
		p.words("cd", scalars(field(n, key))...)
	}
	image := field(n, "image")
	if image == nil || image.Value == "" {
		return nil
	}
	command, words := field(n, "command"), slices.Concat(scalars(field(n, "command")), scalars(field(n, "args")))
	if len(words) == 0 {
		if strings.Contains(image.Value, "crd") {
			p.words("image:", image.Value)
		}
		return nil
	}
	if command == nil { // the image has the program
		program, _, _ := strings.Cut(path.Base(strings.Split(image.Value, "@")[0]), ":")
		if byProgram[program] == nil {
			program = "$" + program
		}
		words = slices.Insert(words, 0, program)
	}
	p.words("image:", image.Value)
	p.words(words[0], words[1:]...)
	return []string{"command", "args", "image"}
}

// settingsOf are the fields of a mapping and of those in it, each as key=value.
func settingsOf(n *yaml.Node) (found []string) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if value.Kind == yaml.ScalarNode && !ofReaders.MatchString(key) {
			found = append(found, key+"="+value.Value)
		}
		found = append(found, settingsOf(value)...)
	}
	return found
}

// scalars are the texts of a list, or the words of a text.
func scalars(n *yaml.Node) (found []string) {
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode && n.Value != "":
		return []string{n.Value}
	case n.Kind == yaml.SequenceNode:
		for _, each := range n.Content {
			if each.Kind == yaml.ScalarNode {
				found = append(found, each.Value)
			}
		}
	}
	return found
}

// field is a field of a mapping, nil if it has none.
func field(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func asText(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	text, err := yaml.Marshal(n)
	if err != nil {
		return n.Value
	}
	return unmasked(string(text))
}
