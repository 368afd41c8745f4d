package plan

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatToDoAboutAnObjectThatCannotBeRead(t *testing.T) {
	for why, do := range map[string]string{
		"request to convert: invalid group/version: example.com/v1alpha1":                                              "put v1alpha1 back into spec.versions",
		"conversion webhook for example.com/v1 failed":                                                                 "bring the conversion webhook up",
		"data from the storage is not transformable: no matching key was found for the provided Secretbox transformer": "delete nothing",
		"unexpected end of JSON input":                                                                                 "restore it in etcd from a backup",
	} {
		NewWithT(t).Expect(Remedy(why)).To(ContainSubstring(do), why)
	}
}
