package generate

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// vocabulary is what texts are taken from if nothing is said of them.
var vocabulary = []string{"a", "b", "x-1", "some text", "ü", "0", "true", "UPPER", "a.b/c", "1s", "5m0s", "https://example.com/a", "8080"}

// formats are texts as a format wants them, written as most programs write them again.
var formats = map[string][]string{
	"date-time":    {"2024-01-02T03:04:05Z", "2031-12-31T23:59:59Z"},
	"datetime":     {"2024-01-02T03:04:05Z"},
	"date":         {"2024-01-02", "2031-12-31"},
	"duration":     {"1s", "5m0s", "1h30m0s"},
	"ip":           {"10.0.0.1", "192.0.2.7"},
	"ipv4":         {"10.0.0.1", "192.0.2.7"},
	"ipv6":         {"2001:db8::1"},
	"cidr":         {"10.0.0.0/8", "2001:db8::/32"},
	"mac":          {"00:00:5e:00:53:01"},
	"uri":          {"https://example.com/a", "https://example.com/b?c=d"},
	"hostname":     {"a.example.com", "b"},
	"email":        {"a@example.com"},
	"uuid":         {"0b1c2d3e-4f50-4a61-8b72-9c83ad94be05"},
	"uuid3":        {"0b1c2d3e-4f50-3a61-8b72-9c83ad94be05"},
	"uuid4":        {"0b1c2d3e-4f50-4a61-8b72-9c83ad94be05"},
	"uuid5":        {"0b1c2d3e-4f50-5a61-8b72-9c83ad94be05"},
	"byte":         {"YQ==", "Ynl0ZXM="},
	"password":     {"secret"},
	"hexcolor":     {"#00ff00"},
	"rgbcolor":     {"rgb(1,2,3)"},
	"isbn":         {"0321751043"},
	"isbn10":       {"0321751043"},
	"isbn13":       {"978-0321751041"},
	"creditcard":   {"4111 1111 1111 1111"},
	"ssn":          {"111-11-1111"},
	"bsonobjectid": {"507f1f77bcf86cd799439011"},
}

// quantityPattern is how controller-gen has a resource.Quantity, and quantities some that are written as they are written again.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

var quantities = []string{"1", "250m", "2Gi", "10k", "0"}

func (g *Generator) text(l limits, intOrString bool) (any, bool) {
	if len(l.patterns) > 0 {
		if l.patterns[0] == quantityPattern {
			return pick(g, quantities), true
		}
		text, ok := g.matching(l)
		return text, ok
	}
	if some := formats[l.format]; some != nil {
		return pick(g, some), true
	}
	if intOrString {
		return pick(g, []string{"50%", "http", "5"}), true
	}
	text := ""
	if g.full || !g.one1in(10) {
		text = pick(g, vocabulary)
	}
	if g.one1in(6) {
		text += fmt.Sprint(g.below(1000))
	}
	return fitted(text, l), true
}

// fitted has as many characters as there may be and have to be.
func fitted(text string, l limits) string {
	if n := utf8.RuneCountInString(text); l.minLength != nil && int64(n) < *l.minLength && *l.minLength <= 1<<16 {
		text += strings.Repeat("a", int(*l.minLength)-n)
	}
	if runes := []rune(text); l.maxLength != nil && int64(len(runes)) > *l.maxLength && *l.maxLength >= 0 {
		text = string(runes[:*l.maxLength])
	}
	return text
}

// fits reports whether a text has as many characters as there may be.
func fits(text string, l limits) bool {
	n := int64(utf8.RuneCountInString(text))
	return (l.minLength == nil || n >= *l.minLength) && (l.maxLength == nil || n <= *l.maxLength)
}

// key is one of a map: the i-th, as people write them.
func (g *Generator) key(i int64) string {
	if i > 2 {
		return fmt.Sprint("key-", i)
	}
	return pick(g, [3][]string{{"a", "8080"}, {"b-2", "k.l"}, {"example.com/c", "C"}}[i])
}

const (
	// large is a whole number that a float64 does not hold.
	large = 1<<53 + 1
	// usual is how far numbers go of which nothing is said.
	usual = 100
)

// bounds are the least and the greatest whole number.
func bounds(l limits) (least, greatest int64) {
	limit := int64(large)
	if l.format == "int32" {
		limit = math.MaxInt32
	}
	least, greatest = -limit, limit
	if l.minimum != nil && *l.minimum > -(1<<62) {
		least = int64(math.Ceil(*l.minimum))
		if l.above && float64(least) == *l.minimum {
			least++
		}
	}
	if l.maximum != nil && *l.maximum < 1<<62 {
		greatest = int64(math.Floor(*l.maximum))
		if l.beneath && float64(greatest) == *l.maximum {
			greatest--
		}
	}
	return least, max(least, greatest)
}

func (g *Generator) integer(l limits) (any, bool) {
	least, greatest := bounds(l)
	step := int64(1)
	if l.multipleOf != nil && *l.multipleOf >= 1 {
		step = int64(*l.multipleOf)
	}
	var n int64
	switch chance := g.below(8); {
	case chance == 0 && least <= 0 && greatest >= 0:
		n = 0
	case chance == 1:
		n = greatest
	case chance == 2:
		n = least
	default:
		from := max(least, min(0, greatest-usual))
		n = from + g.below(min(usual, greatest-from)+1)
	}
	if n -= n % step; n < least {
		n += step
	}
	return n, n >= least && n <= greatest
}

// number is a multiple of a quarter, which every program writes as it is.
func (g *Generator) number(l limits) (any, bool) {
	if l.multipleOf != nil {
		least, greatest := bounds(l)
		steps := int64(math.Max(1, math.Min(usual, float64(greatest-max(least, 0)) / *l.multipleOf)))
		return whole(math.Ceil(float64(max(least, 0)) / *l.multipleOf)**l.multipleOf + float64(g.below(steps))**l.multipleOf), true
	}
	least, greatest := -float64(usual), float64(usual)
	if l.minimum != nil {
		least = *l.minimum
		greatest = math.Max(greatest, least+1)
	}
	if l.maximum != nil {
		greatest = *l.maximum
		least = math.Min(least, greatest)
		if l.minimum == nil {
			least = math.Min(least, greatest-1)
		}
	}
	quarters := int64(math.Min(4*usual, (greatest-least)*4))
	n := least + float64(g.below(quarters+1))/4
	if l.above && n == least {
		n = (least + greatest) / 2
	}
	if l.beneath && n == greatest {
		n = (least + greatest) / 2
	}
	return whole(n), true
}

// whole is a number as the API server decodes it.
func whole(n float64) any {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int64(n)
	}
	return n
}
