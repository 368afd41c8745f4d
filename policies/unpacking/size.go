package unpacking

const (
	// groupTakes is what the first eight fields of a mapping take, however few there are, and fieldTakes each one of more.
	groupTakes, fieldTakes = 288, 80
	itemTakes              = 16
	headTakes              = 48
)

// SizeOf is about what a decoded value takes in memory, in bytes. CostOfJSON is what it may take at most.
func SizeOf(value any) (n int64) {
	switch v := value.(type) {
	case map[string]any:
		n = headTakes + SizeOfFields(len(v))
		for key, inner := range v {
			n += int64(len(key)) + SizeOf(inner)
		}
	case []any:
		n = headTakes/2 + itemTakes*int64(cap(v))
		for _, inner := range v {
			n += SizeOf(inner)
		}
	case string:
		n = int64(len(v))
	case nil, bool:
	default:
		n = 8
	}
	return n
}

// SizeOfFields is about what a mapping takes for so many fields, beside their names and values, in bytes.
func SizeOfFields(fields int) int64 {
	if fields > 8 {
		return fieldTakes * int64(fields)
	}
	return groupTakes * int64(min(fields, 1))
}

// mostLevels is how many mappings and lists in one another encoding/json decodes.
const mostLevels = 10_000

// SizeOfJSON is about SizeOf of what a JSON text holds, which is not decoded for it.
func SizeOfJSON(text []byte) (n int64) {
	const list = -1
	around := []int{0} // how many fields the mappings around have, and which are lists
	for i := 0; i < len(text) && len(around) < mostLevels; i++ {
		switch last := len(around) - 1; text[i] {
		case '"':
			from := i
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			n += int64(i - from)
		case ':':
			around[last]++
		case ',':
			if around[last] == list {
				n += itemTakes + 8
			}
		case '{':
			around, n = append(around, 0), n+headTakes
		case '[':
			around, n = append(around, list), n+headTakes/2+itemTakes
		case '}', ']':
			if last == 0 {
				return n
			}
			n += SizeOfFields(max(around[last], 0))
			around = around[:last]
		}
	}
	return n
}
