package deprecation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/unpacking"
)

// PolicyFile is where a repository says by what it wants to be judged.
const PolicyFile = ".moult/versions.yaml"

// Off is the severity of a rule that is not reported.
const Off finding.Severity = "off"

// Policy is what a project promises its users.
type Policy struct {
	// Windows are how long a version is served after a release has called it deprecated, for each level of stability.
	Windows Windows `yaml:"windows"`
	// Severities are those of rules that are to have another one, or off.
	Severities map[string]finding.Severity `yaml:"severities"`
	// Accept is what was found and is accepted.
	Accept []Accepted `yaml:"accept"`
}

// Windows are those of the levels.
type Windows struct {
	Stable Window `yaml:"stable"`
	Beta   Window `yaml:"beta"`
	Alpha  Window `yaml:"alpha"`
}

// Window is over when both are: so many minor releases have served the version as a deprecated one, and so many days have
// gone by since the first of them.
type Window struct {
	Releases int `yaml:"releases"`
	Days     int `yaml:"days"`
}

// Accepted is a person's statement that a finding is intended.
type Accepted struct {
	Rule string `yaml:"rule" json:"rule"`
	CRD  string `yaml:"crd" json:"crd"`
	// Version, Path and Release, the later of the two, narrow it down; * stands for a part, as in path.Match, and empty is any.
	Version string `yaml:"version" json:"version,omitempty"`
	Path    string `yaml:"path" json:"path,omitempty"`
	Release string `yaml:"release" json:"release,omitempty"`
	Reason  string `yaml:"reason" json:"reason"`
}

// DefaultPolicy has the windows of Kubernetes' deprecation policy.
func DefaultPolicy() Policy {
	return Policy{Windows: Windows{Stable: Window{Releases: 3, Days: 365}, Beta: Window{Releases: 3, Days: 270}}}
}

// Weaker says in what the policy asks for less than Kubernetes' own. A reviewer has to see it where the policy is a
// part of what is reviewed. Empty if in nothing.
func (p Policy) Weaker() string {
	var said, off, milder []string
	own := DefaultPolicy().Windows
	for _, l := range []level{stable, beta, alpha} {
		if is, usual := p.Windows.of(l), own.of(l); is.Releases < usual.Releases || is.Days < usual.Days {
			said = append(said, fmt.Sprintf("the window of %s versions is %s", l, cmp.Or(is.asks(), "nothing")))
		}
	}
	for _, r := range slices.Concat(rules, present) {
		switch is, has := p.Severities[r.name]; {
		case has && is == Off:
			off = append(off, r.name)
		case has && is.Weight() < r.severity.Weight():
			milder = append(milder, r.name)
		}
	}
	if len(off) > 0 {
		said = append(said, "off: "+strings.Join(off, ", "))
	}
	if len(milder) > 0 {
		said = append(said, "milder: "+strings.Join(milder, ", "))
	}
	return strings.Join(said, "; ")
}

// of is the window of a level.
func (w Windows) of(l level) Window {
	switch l {
	case alpha:
		return w.Alpha
	case beta:
		return w.Beta
	case stable:
	}
	return w.Stable
}

// ReadPolicy reads a file strictly. What it does not say is as in DefaultPolicy. An error names the line.
func ReadPolicy(content []byte) (Policy, error) {
	policy := DefaultPolicy()
	if err := unpacking.Bounded(content); err != nil {
		return policy, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return policy, err
	}
	if err := decoder.Decode(&policy); err != nil && !errors.Is(err, io.EOF) {
		return policy, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return policy, errors.New("it has a second document; write one")
	}
	return policy, policy.validate(&root)
}

func (p Policy) validate(root *yaml.Node) error {
	for name, severity := range p.Severities {
		at := lineOf(root, "severities", name)
		if !slices.Contains(Rules(), name) {
			return fmt.Errorf("line %d: severities: there is no rule %s; there are %s", at, name, strings.Join(Rules(), ", "))
		}
		if severity != Off && severity.Weight() < 0 {
			return fmt.Errorf("line %d: severities: %s: %q is none of error, warning, info, off", at, name, severity)
		}
	}
	for name, w := range map[string]Window{"stable": p.Windows.Stable, "beta": p.Windows.Beta, "alpha": p.Windows.Alpha} {
		if w.Releases < 0 || w.Days < 0 {
			return fmt.Errorf("line %d: windows: %s: a window is at least 0", lineOf(root, "windows", name), name)
		}
	}
	for i, a := range p.Accept {
		at := lineOf(root, "accept", fmt.Sprint(i))
		_, bad := path.Match(a.CRD+a.Version+a.Path+a.Release, "")
		switch {
		case !slices.Contains(Rules(), a.Rule):
			return fmt.Errorf("line %d: accept: there is no rule %q; there are %s", at, a.Rule, strings.Join(Rules(), ", "))
		case a.CRD == "" || a.Reason == "":
			return fmt.Errorf("line %d: accept: the crd or the reason is missing", at)
		case bad != nil:
			return fmt.Errorf("line %d: accept: %w", at, bad)
		}
	}
	return nil
}

// lineOf is where an entry of an entry of the document is; 0 if it cannot be told.
func lineOf(root *yaml.Node, names ...string) int {
	if len(root.Content) == 0 {
		return 0
	}
	node, line := root.Content[0], 0
	for _, name := range names {
		var found *yaml.Node
		for i, child := range node.Content {
			switch {
			case node.Kind == yaml.SequenceNode && fmt.Sprint(i) == name:
				found, line = child, child.Line
			case node.Kind == yaml.MappingNode && i%2 == 0 && child.Value == name:
				found, line = node.Content[i+1], child.Line
			}
		}
		if found == nil {
			return line
		}
		node = found
	}
	return line
}

// means reports whether a finding is what is accepted.
func (a Accepted) means(f Violation) bool {
	return a.Rule == f.Rule && matches(a.CRD, f.CRD) && (a.Version == "" || matches(a.Version, f.Version)) &&
		(a.Path == "" || matches(a.Path, f.Path)) && (a.Release == "" || matches(a.Release, f.To))
}

// matches takes a path with [*] as it is, too.
func matches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return pattern == name || err == nil && matched
}
