package unpacking

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatADecodedValueTakesIsAboutWhatItIsSaidToTake(t *testing.T) {
	fields := make([]string, 80_000)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"k%05d":%[1]d`, i)
	}
	for name, text := range map[string]string{
		"mappings with nothing in them":    "[" + strings.Repeat("{},", 200_000) + "{}]",
		"mappings with a field":            "[" + strings.Repeat(`{"a":1},`, 50_000) + "{}]",
		"lists":                            "[" + strings.Repeat("[[]],", 100_000) + "1]",
		"texts":                            "[" + strings.Repeat(`"some text",`, 100_000) + "1]",
		"a mapping with very many fields":  "{" + strings.Join(fields, ",") + "}",
		"mappings with nine fields":        "[" + strings.Repeat(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1},`, 10_000) + "1]",
		"a long text":                      `"` + strings.Repeat("x", 4<<20) + `"`,
		"mappings in mappings, many times": "[" + strings.Repeat(strings.Repeat(`{"":`, 1000)+"1"+strings.Repeat("}", 1000)+",", 20) + "1]",
	} {
		t.Run(name, func(t *testing.T) {
			g, before, after := NewWithT(t), runtime.MemStats{}, runtime.MemStats{}
			runtime.GC()
			runtime.GC() // the first leaves what pools hold
			runtime.ReadMemStats(&before)
			var value any
			g.Expect(json.Unmarshal([]byte(text), &value)).To(Succeed())
			runtime.GC()
			runtime.ReadMemStats(&after)
			takes := float64(after.HeapAlloc) - float64(before.HeapAlloc)
			isAbout := And(BeNumerically(">", takes/1.5), BeNumerically("<", takes*1.5))
			g.Expect(float64(SizeOf(value))).To(isAbout)
			g.Expect(float64(SizeOfJSON([]byte(text)))).To(isAbout, "and so it is known before it is decoded")
			runtime.KeepAlive(text)
		})
	}
}
