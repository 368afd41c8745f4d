package v1alpha1

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
)

func TestAProgressSurvivesItsMessage(t *testing.T) {
	for name, p := range map[string]Progress{
		"nothing known yet":   {},
		"half way":            {Done: 500, Total: 1000, Failed: 3, Rate: 412},
		"a million objects":   {Done: 1_000_000, Total: 1_000_000},
		"more done than told": {Done: 12, Total: 10},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, ok := ParseProgress(Message(7, "rewriting objects at v1: "+p.String()))
			g.Expect(ok).To(BeTrue())
			g.Expect(got).To(Equal(p))
		})
	}
}

func TestASettleTimeSurvivesItsMessage(t *testing.T) {
	g := NewWithT(t)
	for _, settle := range []time.Duration{time.Second, 90 * time.Second, 1500 * time.Millisecond, 20 * time.Microsecond, 3 * time.Hour} {
		g.Expect(ParseSettle(Message(7, Proved("v1", settle)))).To(Equal(settle))
		g.Expect(ParseSettle(Message(7, Proved("v1", settle)+": "+Progress{Done: 7, Total: 7}.String()))).To(Equal(settle))
	}
	g.Expect(ParseSettle("every object is proved to be stored at v1: 7 of 7 objects, 0 failed")).To(BeZero())
	g.Expect(ParseSettle("every object is proved to be stored at v1, after a settle time of 1.2.3h")).To(BeZero())
}

func TestAMessageSpeaksOfOneGeneration(t *testing.T) {
	g := NewWithT(t)
	m := Message(1, "all objects are stored at v1")
	g.Expect(SpeaksOf(m, 1)).To(BeTrue())
	g.Expect(SpeaksOf(m, 11)).To(BeFalse())
	g.Expect(SpeaksOf(Message(11, "x"), 1)).To(BeFalse())
	g.Expect(SpeaksOf("", 0)).To(BeFalse())
}

func TestPercentStaysBetweenNothingAndAll(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Progress{}.Percent()).To(Equal(0))
	g.Expect(Progress{Done: 12, Total: 10}.Percent()).To(Equal(100))
	g.Expect(Progress{Done: 5, Total: 10}.Percent()).To(Equal(50))
}

func TestALongMessageIsCut(t *testing.T) {
	g := NewWithT(t)
	message := Message(7, strings.Repeat("é", 600<<10))
	g.Expect(len(message)).To(And(BeNumerically("<=", 32768), BeNumerically(">", 32760)))
	g.Expect(message).To(And(HavePrefix("generation 7: éé"), HaveSuffix("é…"), Satisfy(utf8.ValidString)))
	g.Expect(Message(7, "short")).To(Equal("generation 7: short"))
}
