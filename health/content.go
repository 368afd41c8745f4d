package health

import (
	"encoding/json"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// content is a part of an object, as decoded from JSON or YAML. The nil content
// has no fields; reading what is not there, or is of another type, gives zero
// values.
type content map[string]any

func (c content) part(name string) content {
	part, _ := c[name].(map[string]any)
	return part
}

func (c content) text(name string) string {
	text, _ := c[name].(string)
	return text
}

// number reads numbers the way Lua has them, all as float64, for the script and
// this package to agree on every one.
func (c content) number(name string) (float64, bool) {
	switch n := c[name].(type) {
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case int32:
		return float64(n), true
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	default:
		return 0, false
	}
}

// conditions are the items of status.conditions in their order, null excepted.
// An item that is not even an object has no fields.
func (c content) conditions() []content {
	list, _ := c.part("status")["conditions"].([]any)
	found := make([]content, 0, len(list))
	for _, item := range list {
		if item != nil {
			condition, _ := item.(map[string]any)
			found = append(found, condition)
		}
	}
	return found
}

// condition is the first one of the type, nil if there is none.
func (c content) condition(conditionType string) content {
	for _, condition := range c.conditions() {
		if condition.text("type") == conditionType {
			return condition
		}
	}
	return nil
}

// is reports whether a condition has that type and status.
func (c content) is(conditionType, status string) bool {
	return c.text("type") == conditionType && c.text("status") == status
}

// speaksOf reports whether the condition is about that object's generation as it
// is now. Moult says that in the message alone (v1alpha1.Message), and earlier
// versions of it in observedGeneration, too, which API servers before 1.35 drop.
func (c content) speaksOf(object content) bool {
	generation, ok := object.part("metadata").number("generation")
	if !ok {
		return false
	}
	if c["observedGeneration"] == nil {
		whole := int64(generation)
		return float64(whole) == generation && v1alpha1.SpeaksOf(c.text("message"), whole)
	}
	observed, ok := c.number("observedGeneration")
	return ok && observed == generation
}

// or is the text, or what to say instead of nothing.
func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}
