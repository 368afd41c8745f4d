package roundtrip

// Kind is what is found about a conversion. The set is closed; the worst come first.
type Kind string

const (
	// Confirmation: a field that confirms something destructive is not as it was written.
	Confirmation Kind = "confirmation"
	// NotConverted: the webhook fails, or answers something that the API server does not take.
	NotConverted Kind = "notConverted"
	// Lost: a field is not there any more that had a value other than an empty one, and other than its version's default.
	Lost Kind = "lost"
	// Overwritten: a field has its version's default where another value was set.
	Overwritten Kind = "overwritten"
	// Changed: a field has another value, which is not its default.
	Changed Kind = "changed"
	// Status: a field of status is lost or has another value.
	Status Kind = "status"
	// StatusWrite: a status that is written at another version changes something beside status, or does not arrive.
	StatusWrite Kind = "statusWrite"
	// Ownership: with server-side apply, a client goes on at another version with what it has applied. It gets a
	// conflict, or what it applied is not there, or what it does not apply any more stays.
	Ownership Kind = "ownership"
	// Defaulted: a field that no client set is there, with the default of the other version.
	Defaulted Kind = "defaulted"
	// Unstable: a second trip loses, changes or adds something that the first one did not.
	Unstable Kind = "unstable"
	// Refused: the API server would not take the object at the other version although nothing in it changes.
	Refused Kind = "refused"

	// Empty: a field with an empty value ("", 0, false, {}, [], null, or an object of nothing else) is not there any more, and its version has no default for it.
	Empty Kind = "empty"
	// Respelled: a quantity or a moment is written otherwise, and is the same.
	Respelled Kind = "respelled"
	// Added: a field is there that was not, and is no default.
	Added Kind = "added"
	// Undefaulted: a field that had its version's default is not there any more: the API server fills in defaults only at the
	// version that an object is stored at.
	Undefaulted Kind = "undefaulted"
	// Ratcheted: the object breaks the schema or a rule of the other version, which is let pass until it changes.
	Ratcheted Kind = "ratcheted"
	// Invalid: the object breaks the schema or a rule of its own version, as the CRD has it now.
	Invalid Kind = "invalid"
)

// kinds are all, in their order, with what each is called, and whether it holds something up or is only told.
var kinds = []struct {
	kind  Kind
	say   string
	fails bool
}{
	{Confirmation, "a confirmation is lost or changed", true},
	{NotConverted, "not converted", true},
	{Lost, "lost", true},
	{Overwritten, "overwritten by a default", true},
	{Changed, "changed", true},
	{Status, "lost or changed in status", true},
	{StatusWrite, "not kept by a write of status", true},
	{Ownership, "not kept by server-side apply at the other version", true},
	{Defaulted, "a default of the other version appears", true},
	{Unstable, "different after a second trip", true},
	{Refused, "refused", true},
	{Empty, "an empty value is dropped", false},
	{Respelled, "the same value, written otherwise", false},
	{Added, "appears", false},
	{Undefaulted, "without its default", false},
	{Ratcheted, "let pass until it changes", false},
	{Invalid, "not valid at its own version", false},
}

// String is what it is called.
func (k Kind) String() string { return kinds[k.order()].say }

// Fails reports whether it holds something up.
func (k Kind) Fails() bool { return kinds[k.order()].fails }

func (k Kind) order() int {
	for i := range kinds {
		if kinds[i].kind == k {
			return i
		}
	}
	return len(kinds) - 1
}
