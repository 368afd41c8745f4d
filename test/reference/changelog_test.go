package reference_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	. "github.com/onsi/gomega"
)

// make release takes the section of its version, and the newest is the first.
func TestTheChangelogIsCutIntoReleases(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("../../CHANGELOG.md")
	g.Expect(err).NotTo(HaveOccurred())
	titles := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(content), -1)
	g.Expect(len(titles)).To(BeNumerically(">=", 2))
	g.Expect(titles[0][1]).To(Equal("[Unreleased]"))
	newer, later := semver.MustParse("999.0.0"), "9999-12-31"
	for _, title := range titles[1:] {
		cut := regexp.MustCompile(`^\[([^]]+)\] - (\d{4}-\d\d-\d\d)$`).FindStringSubmatch(title[1])
		g.Expect(cut).NotTo(BeNil(), title[1])
		version, err := semver.StrictNewVersion(cut[1])
		g.Expect(err).NotTo(HaveOccurred(), title[1])
		g.Expect(version.LessThan(newer)).To(BeTrue(), "%s comes after %s", version, newer)
		_, err = time.Parse(time.DateOnly, cut[2])
		g.Expect(err).NotTo(HaveOccurred(), title[1])
		g.Expect(cut[2] <= later).To(BeTrue(), title[1])
		g.Expect(string(content)).To(ContainSubstring("\n["+cut[1]+"]: https://"), "where its title leads")
		newer, later = version, cut[2]
	}
}
