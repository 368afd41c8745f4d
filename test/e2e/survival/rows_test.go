package survival_test

import (
	"strings"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// row is one line of the page, to be played.
type row struct {
	mode mode
	// label is how the label comes onto the CRD.
	label origin
	// then is what is done with the labelled CRD, in words and in deed.
	then act
	// survives is what is expected of the label.
	survives bool
	// otherwise: what is done is the very thing that Moult has named with an "unless", so that it comes otherwise; in the
	// words for it. Empty if its word must hold as it is.
	otherwise string
}

// origin is how the label comes onto the CRD.
type origin struct {
	words string
	// set is done after the first sync. Nil: the Component is in Git from the first commit on.
	set func(*scene)
	// elsewhere: the Component is not in the folder's kustomization but named by the tool.
	elsewhere bool
}

// act is what is done to a CRD.
type act struct {
	words string
	do    func(*scene)
	// rebuilds a cluster: what stays then is what is in Git.
	rebuilds bool
	// byHand: a person does something to the label, of which Moult could say nothing before.
	byHand bool
}

const (
	label   = v1alpha1.MigrateLabel + "=" + v1alpha1.MigrateLabelValue
	noLabel = v1alpha1.MigrateLabel + "-"
)

var (
	inGit        = origin{words: "in Git, by the Component"}
	inTheTool    = origin{words: "in Git, by the Component in the tool's own object", elsewhere: true}
	kubectlLabel = origin{words: "set by `kubectl label`", set: func(s *scene) { s.by("", "label", "crd", s.git.crd(), label) }}
	kubectlApply = origin{words: "set by `kubectl apply`", set: func(s *scene) { s.by(s.git.labelled(s.t), "apply", "-f", "-") }}
	kubectlSSA   = origin{words: "set by `kubectl apply --server-side`", set: func(s *scene) {
		s.by(s.git.labelled(s.t), "apply", "--server-side", "--force-conflicts", "-f", "-")
	}}
	kubectlEdit = origin{words: "set by `kubectl edit`", set: func(s *scene) {
		s.by("", "patch", "crd", s.git.crd(), "--field-manager=kubectl-edit", "--type=merge", "-p", `{"metadata":{"labels":{"`+v1alpha1.MigrateLabel+`":"true"}}}`)
	}}
	laterInGit = origin{words: "not there, and then a commit puts it into Git", set: func(*scene) {}}

	again   = act{words: "the same commit is applied again", do: func(s *scene) { s.delivery.sync() }}
	changed = act{words: "a commit changes the CRD", do: func(s *scene) { s.deliver() }}
	removed = act{words: "`kubectl label` takes it off, and the tool comes by", byHand: true, do: func(s *scene) {
		s.by("", "label", "crd", s.git.crd(), noLabel)
		s.g.Expect(isLabelled(s.live())).To(BeFalse())
		s.delivery.comesBy()
	}}
	arrives = act{words: "the commit is applied", do: func(s *scene) {
		s.git.component = true
		s.deliver()
	}}
	toldToReplace = act{words: "Argo CD has to replace, and the same commit is applied again", do: func(s *scene) {
		s.mode.options = replace.options
		s.delivery.sync()
	}}
	toldToIgnore = act{words: "a commit adds `ssa: Ignore`", do: func(s *scene) {
		s.git.annotations = ignore.annotations
		s.deliver()
	}}
	rebuilt = act{words: "the cluster is built anew from Git", rebuilds: true, do: func(s *scene) {
		at, by := s.elsewhere()
		s.at = at
		s.t.Cleanup(func() { s.clear(at) })
		s.delivery = by.begin(s, s.mode)
		s.delivery.push(s.git.files(s.t))
		s.delivery.sync()
	}}
)

var (
	clientSide = mode{name: "client-side apply"}
	serverSide = mode{name: "`ServerSideApply=true`", options: []string{"ServerSideApply=true"}}
	replace    = mode{name: "`Replace=true`", options: []string{"Replace=true"}}
	replaceCRD = mode{name: "`Replace=true` on the CRD", annotations: map[string]string{"argocd.argoproj.io/sync-options": "Replace=true"}}
)

// byTheApplication has the Component in spec.source.kustomize.
func byTheApplication(m mode) mode {
	m.kustomize = "components: [../opt-in]"
	return m
}

// ofArgoCD are the rows of Argo CD.
func ofArgoCD() []row {
	var rows []row
	for _, m := range []mode{clientSide, serverSide, replace} {
		for _, then := range []act{again, changed, removed, rebuilt} {
			rows = append(rows, row{mode: m, label: inGit, then: then, survives: true})
		}
		rows = append(rows, row{mode: byTheApplication(m), label: inTheTool, then: changed, survives: true})
	}
	return append(rows,
		row{mode: clientSide, label: kubectlLabel, then: again, survives: true},
		row{mode: clientSide, label: kubectlLabel, then: changed, survives: true},
		row{mode: clientSide, label: kubectlLabel, then: rebuilt},
		row{mode: clientSide, label: kubectlApply, then: again},
		row{mode: clientSide, label: kubectlSSA, then: again},
		row{mode: serverSide, label: kubectlLabel, then: again, survives: true},
		row{mode: serverSide, label: kubectlLabel, then: rebuilt},
		row{mode: serverSide, label: kubectlApply, then: again},
		row{mode: serverSide, label: kubectlSSA, then: again, survives: true},
		row{mode: replace, label: kubectlLabel, then: again},
		row{mode: replace, label: kubectlLabel, then: changed},
		row{mode: replace, label: kubectlApply, then: again},
		row{mode: replace, label: kubectlSSA, then: again},
		row{mode: replaceCRD, label: kubectlLabel, then: again},
		row{mode: clientSide, label: kubectlLabel, then: toldToReplace, otherwise: "Argo CD leaves it alone unless it has to replace, which it does here"},
	)
}

const ssa = "kustomize.toolkit.fluxcd.io/ssa"

var (
	ordinary     = mode{name: "server-side apply"}
	force        = mode{name: "`force: true`", spec: "force: true"}
	merge        = mode{name: "`ssa: Merge` on the CRD", annotations: map[string]string{ssa: "Merge"}}
	ifNotPresent = mode{name: "`ssa: IfNotPresent` on the CRD", annotations: map[string]string{ssa: "IfNotPresent"}}
	ignore       = mode{name: "`ssa: Ignore` on the CRD", annotations: map[string]string{ssa: "Ignore"}, madeByHand: true}

	annotatedByHand = origin{words: "set by `kubectl label`, with `ssa: IfNotPresent` set by `kubectl annotate`", set: func(s *scene) {
		s.by("", "annotate", "crd", s.git.crd(), ssa+"=IfNotPresent")
		kubectlLabel.set(s)
	}}
)

// byTheKustomization has the Component in spec.components.
func byTheKustomization(m mode) mode {
	m.spec += "\ncomponents: [../opt-in]"
	return m
}

// ofFlux are the rows of Flux.
func ofFlux() []row {
	var rows []row
	for _, m := range []mode{ordinary, force, merge} {
		for _, then := range []act{again, changed, removed} {
			rows = append(rows, row{mode: m, label: inGit, then: then, survives: true})
		}
	}
	for _, m := range []mode{ordinary, force} {
		for _, by := range []origin{kubectlLabel, kubectlEdit, kubectlApply, kubectlSSA} {
			rows = append(rows, row{mode: m, label: by, then: again})
		}
	}
	return append(rows,
		row{mode: ordinary, label: inGit, then: rebuilt, survives: true},
		row{mode: byTheKustomization(ordinary), label: inTheTool, then: changed, survives: true},
		row{mode: ordinary, label: kubectlLabel, then: rebuilt},
		row{mode: merge, label: kubectlLabel, then: again, survives: true},
		row{mode: merge, label: kubectlApply, then: again, survives: true},
		row{mode: merge, label: kubectlLabel, then: rebuilt},
		row{mode: ifNotPresent, label: inGit, then: again, survives: true},
		row{mode: ifNotPresent, label: inGit, then: removed},
		row{mode: ifNotPresent, label: inGit, then: rebuilt, survives: true},
		row{mode: ifNotPresent, label: laterInGit, then: arrives},
		row{mode: ifNotPresent, label: kubectlLabel, then: again, survives: true},
		row{mode: ignore, label: laterInGit, then: arrives},
		row{mode: ignore, label: kubectlLabel, then: again, survives: true},
		row{mode: ordinary, label: annotatedByHand, then: again},
		row{mode: ordinary, label: kubectlLabel, then: toldToIgnore, survives: true, otherwise: "not if Git tells Flux to leave the CRD alone, which it does here"},
	)
}

var (
	apply      = mode{name: "`kubectl apply`", apply: kubectlCommand("apply")}
	applySSA   = mode{name: "`kubectl apply --server-side`", apply: kubectlCommand("apply --server-side")}
	replaceAll = mode{name: "`kubectl replace`", apply: kubectlCommand("replace"), create: kubectlCommand("create")}
)

func kubectlCommand(words string) []string { return strings.Fields(words) }

// ofKubectl are the rows of scripts that use kubectl.
func ofKubectl() []row {
	var rows []row
	for _, m := range []mode{apply, applySSA, replaceAll} {
		for _, then := range []act{again, changed, removed, rebuilt} {
			rows = append(rows, row{mode: m, label: inGit, then: then, survives: true})
		}
		rows = append(rows,
			row{mode: m, label: kubectlLabel, then: again, survives: m.create == nil},
			row{mode: m, label: kubectlLabel, then: rebuilt},
		)
	}
	return rows
}
