package inspect

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestRBACIsAskedAboutTheGroupsOfAUser(t *testing.T) {
	g := NewWithT(t)
	g.Expect(groupsOf("alice")).To(Equal([]string{"system:authenticated"}))
	g.Expect(groupsOf(ControllerUser)).To(Equal([]string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:moult-system"}))
}
