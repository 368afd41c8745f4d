package words

import (
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
)

func TestNumbersAndNouns(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Count(0, "object")).To(Equal("0 objects"))
	g.Expect(Count(1, "object")).To(Equal("1 object"))
	g.Expect(Count(int64(2000), "object")).To(Equal("2000 objects"))
	g.Expect(Agree(1, "it", "them")).To(Equal("it"))
	g.Expect(Agree(2, "it", "them")).To(Equal("them"))
}

func TestOfManyNamesAFewAreListed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Few(nil, 2)).To(BeEmpty())
	g.Expect(Few([]string{"a", "b"}, 2)).To(Equal("a, b"))
	g.Expect(Few([]string{"a", "b", "c", "d"}, 2)).To(Equal("a, b and 2 more"))
	g.Expect(FewClauses([]string{"a, as it was", "b"}, 2)).To(Equal("a, as it was; b"))
	g.Expect(FewClauses([]string{"a, as it was", "b", "c"}, 2)).To(Equal("a, as it was; b; and 1 more"))
}

func TestWhatIsSaidOfSomeThingsKeepsTheirOrder(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Of([]int{2, 1, 2}, strconv.Itoa)).To(Equal([]string{"2", "1", "2"}))
	g.Expect(Of(nil, strconv.Itoa)).To(BeNil())
	g.Expect(Distinct([]string{"2", "1", "2"})).To(Equal([]string{"2", "1"}))
}

func TestALongTextIsClipped(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Clip("grün", 4)).To(Equal("grün"))
	g.Expect(Clip("grünen", 4)).To(Equal("grün…"))
}

func TestALongTextIsBrokenIntoLines(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Wrap("- ", "  ", "one two three", 9)).To(Equal("- one two\n  three"))
	g.Expect(Wrap("# ", "# ", "", 9)).To(Equal("#"))
	g.Expect(Wrap("", "  ", "a unbreakable b", 5)).To(Equal("a\n  unbreakable\n  b"))
}

func TestAShellReadsWhatIsMeant(t *testing.T) {
	for word, want := range map[string]string{
		"git:HEAD~1:config/crd": "git:HEAD~1:config/crd",
		"a=b,c":                 "a=b,c",
		"":                      "''",
		"~/crds":                "'~/crds'",
		"it's":                  `'it'\''s'`,
		"$(ls)":                 "'$(ls)'",
		"two words":             "'two words'",
	} {
		NewWithT(t).Expect(Shell(word)).To(Equal(want))
	}
}
