package migration

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

// Validate says which option cannot work, beginning with its name as flags spell it, without the dashes: "label-key …".
// An option that is not set has a default and is fine.
func (o Options) Validate() error {
	if o.LabelKey != "" {
		if problems := validation.IsQualifiedName(o.LabelKey); len(problems) > 0 {
			return fmt.Errorf("label-key %q cannot be a label's key; write it like moult.dev/migrate: %s", o.LabelKey, inWords(problems))
		}
	}
	for _, group := range o.Groups {
		if problems := validation.IsDNS1123Subdomain(group); len(problems) > 0 {
			return fmt.Errorf("crd-groups names %q, which cannot be an API group; write it like example.com, several with commas between: %s", group, inWords(problems))
		}
	}
	if o.Settle < 0 {
		return fmt.Errorf("settle is %s; it must be longer than 0, for example %s", o.Settle, DefaultSettle)
	}
	if o.MaxInFlight < 0 {
		return fmt.Errorf("max-in-flight is %d; at least 1 write must be allowed, for example %d", o.MaxInFlight, DefaultMaxInFlight)
	}
	if o.MaxQueued < 0 {
		return fmt.Errorf("max-queued is %v; it must be above 0, for example %v", o.MaxQueued, throttle.DefaultMaxQueued)
	}
	if o.MaxRate < 0 {
		return fmt.Errorf("max-rate is %v; it must be above 0 writes per second, or 0 for no bound", o.MaxRate)
	}
	return nil
}

// inWords leaves out of the API server's rules what is not for people: the
// regular expressions.
func inWords(problems []string) string {
	rules := make([]string, len(problems))
	for i, p := range problems {
		rules[i], _, _ = strings.Cut(p, " (e.g. ")
	}
	return strings.Join(rules, "; ")
}
