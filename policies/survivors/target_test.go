package survivors

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

func TestWhichVersionsAreToLeave(t *testing.T) {
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1beta1", "v1").Unserved("v1alpha1").Build()
	removal := func(crd string, versions ...string) v1alpha1.VersionRemoval {
		return v1alpha1.VersionRemoval{Spec: v1alpha1.VersionRemovalSpec{CRDName: crd, Versions: versions}}
	}
	for name, c := range map[string]struct {
		asked            []string
		removals         []v1alpha1.VersionRemoval
		leaving, staying []string
		served           []string
		from             From
	}{
		"a person has named them": {asked: []string{"v1beta1"}, removals: []v1alpha1.VersionRemoval{removal(crd.Name, "v1alpha1")},
			leaving: []string{"v1beta1"}, staying: []string{"v1alpha1", "v1"}, served: []string{"v1"}, from: Asked},
		"it has left already": {asked: []string{"v0"}, leaving: []string{"v0"}, staying: []string{"v1alpha1", "v1beta1", "v1"}, served: []string{"v1beta1", "v1"}, from: Asked},
		"VersionRemovals name them": {removals: []v1alpha1.VersionRemoval{removal(crd.Name, "v1alpha1"), removal("gadgets.example.com", "v1"), removal(crd.Name, "v1alpha1", "v1beta1")},
			leaving: []string{"v1alpha1", "v1beta1"}, staying: []string{"v1"}, served: []string{"v1"}, from: Removals},
		"what a VersionRemoval names has left": {removals: []v1alpha1.VersionRemoval{removal(crd.Name, "v0")},
			leaving: []string{"v0", "v1alpha1", "v1beta1"}, staying: []string{"v1"}, served: []string{"v1"}, from: NotStored},
		"nobody has named any": {leaving: []string{"v1alpha1", "v1beta1"}, staying: []string{"v1"}, served: []string{"v1"}, from: NotStored},
	} {
		t.Run(name, func(t *testing.T) {
			got := TargetOf(crd, c.asked, c.removals)
			NewWithT(t).Expect(got).To(Equal(Target{CRD: crd.Name, Group: "example.com", Plural: "widgets", Kinds: []string{"Widget", "WidgetList"},
				Leaving: c.leaving, Staying: c.staying, Served: c.served, From: c.from,
				listed: []string{"v1alpha1", "v1beta1", "v1"}, served: []string{"v1beta1", "v1"}}))
		})
	}
}
