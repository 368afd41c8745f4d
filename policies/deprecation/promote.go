package deprecation

import (
	"fmt"
	"path"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"

	crds "github.com/moult-dev/moult/api/crd"
)

// State reports whether a criterion of a promotion is met, as far as a repository shows it. The set is closed.
type State string

const (
	// Shown: the repository shows it.
	Shown State = "shown"
	// NotShown: the repository shows that it is not so, or lacks what would show it.
	NotShown State = "not shown"
	// NotKnown: no repository can show it.
	NotKnown State = "not to be known"
)

// Criterion is one thing that has to be so before users are sent to a version.
type Criterion struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Seen is what was seen, in a clause without a full stop, and Command what shows it.
	Seen    string `json:"seen"`
	Command string `json:"command"`
}

// Promotion is the checklist of one CRD.
type Promotion struct {
	CRD string `json:"crd"`
	// From is the version before, and To the one that users are sent to.
	From     string      `json:"from"`
	To       string      `json:"to"`
	Criteria []Criterion `json:"criteria"`
}

// Promotions are all of a version.
type Promotions struct {
	// OK is true when everything is shown.
	OK      bool        `json:"ok"`
	Release string      `json:"release"`
	CRDs    []Promotion `json:"crds"`
	// Notes are what could not be looked at, each in a sentence without a full stop.
	Notes []string `json:"notes,omitempty"`
}

// PromotionInput is what shows whether a version may be promoted.
type PromotionInput struct {
	// Releases are in their order, and Earlier as in Input.
	Releases []Release
	Earlier  bool
	Version  string
	// CRD is the name of the only one that is asked for; empty for all that have the version.
	CRD string
	// SeenTo names criteria that no repository can show, and that a person has seen to.
	SeenTo []string
	// Files are the paths of the newest release's files; nil if they are not known.
	Files    []string
	LabelKey string
}

// Promote holds a version of the newest release to the criteria, which follow Kubernetes' rules for changes of an API.
// It leaves out CRDs that have no older version.
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api_changes.md
func Promote(in PromotionInput) Promotions {
	newest := in.Releases[len(in.Releases)-1]
	all := Promotions{OK: true, Release: newest.Name, CRDs: []Promotion{}}
	for _, crd := range newest.CRDs {
		if in.CRD != "" && crd.Name != in.CRD || !crds.Has(crd, in.Version) {
			continue
		}
		p := &promotion{PromotionInput: in, newest: newest, crd: crd, is: crds.Version(crd, in.Version)}
		if p.was = p.before(); p.was == nil {
			all.Notes = append(all.Notes, fmt.Sprintf("%s was left out: it has no version older than %s", crd.Name, in.Version))
			continue
		}
		told := Promotion{CRD: crd.Name, From: p.was.Name, To: in.Version}
		for _, c := range criteria {
			is := c.look(p)
			if is.State == NotKnown && slices.Contains(in.SeenTo, c.name) {
				is = shown("you say that you have seen to it (--seen-to)")
			}
			is.Name, is.Command = c.name, p.command(c.command)
			all.OK = all.OK && is.State != NotShown
			told.Criteria = append(told.Criteria, is)
		}
		all.CRDs = append(all.CRDs, told)
	}
	return all
}

// promotion is one CRD on its way to a version.
type promotion struct {
	PromotionInput

	newest  Release
	crd     *definition
	was, is *apiextensionsv1.CustomResourceDefinitionVersion
}

// before is the older version that was stored last; else the next older one that is served. It is nil if there is none.
func (p *promotion) before() *apiextensionsv1.CustomResourceDefinitionVersion {
	for _, r := range slices.Backward(p.Releases) {
		if crd := r.crd(p.crd.Name); crd != nil && p.isOlder(crds.StorageVersion(crd)) {
			if v := crds.Version(crd, crds.StorageVersion(crd)); v != nil {
				if now := crds.Version(p.crd, v.Name); now != nil {
					return now
				}
				return v
			}
		}
	}
	for i, v := range p.crd.Spec.Versions {
		if v.Served && p.isOlder(v.Name) {
			return &p.crd.Spec.Versions[i]
		}
	}
	return nil
}

// isOlder is by the order that kubectl takes versions in.
func (p *promotion) isOlder(name string) bool {
	return version.CompareKubeAwareVersionStrings(name, p.Version) < 0
}

// command fills in what is known.
func (p *promotion) command(text string) string {
	return strings.NewReplacer("CRD", p.crd.Name, "GROUP", p.crd.Spec.Group, "PLURAL", p.crd.Spec.Names.Plural, "FOLDER", p.folder(), "FROM", p.was.Name, "VERSION", p.Version).Replace(text)
}

// folder is where the CRD is written.
func (p *promotion) folder() string {
	if at, known := p.newest.Places[p.crd.Name]; known {
		return path.Dir(at.File)
	}
	return "config/crd"
}

// Criteria are the names of all, in the order of the work.
func Criteria() (names []string) {
	for _, c := range criteria {
		names = append(names, c.name)
	}
	return names
}

// criteria are in the order of the work.
var criteria = []struct {
	name    string
	look    func(*promotion) Criterion
	command string
}{
	{"the version is served beside the one before", servedBeside, "kubectl get crd CRD -o jsonpath='{.spec.versions[?(@.served==true)].name}'"},
	{"a release serves it before one stores it", servedBeforeStored, "moult check versions"},
	{"the fields have not changed incompatibly since its first release", unchanged, "moult check versions"},
	{"no field of the one before is missing", noFieldMissing, "moult rehearse --crds FOLDER --objects config/samples"},
	{"round trips are tested", roundTripsTested, "moult test conversion test/fixtures --crds FOLDER"},
	{"no field is alpha or behind a feature gate", noAlphaFields, "kubectl explain PLURAL --api-version GROUP/VERSION --recursive"},
	{"status is a subresource", statusSubresource, "kubectl get crd CRD -o jsonpath='{.spec.versions[?(@.name==\"VERSION\")].subresources}'"},
	{"it has the printer columns of the one before", printerColumns, "kubectl get crd CRD -o jsonpath='{.spec.versions[?(@.name==\"VERSION\")].additionalPrinterColumns}'"},
	{"samples are written at it", samplesAtIt, "grep -rn GROUP/VERSION config/samples examples docs"},
	{"the one before is deprecated, with a warning", olderDeprecated, "kubectl get crd CRD -o jsonpath='{.spec.versions[?(@.name==\"FROM\")].deprecated}'"},
	{"objects were rehearsed", rehearsed, "moult rehearse --crds FOLDER --context CLUSTER"},
	{"there is a backup before the flip", backedUp, "moult backup CRD -f backup.tar.gz"},
}
