package migration_test

import (
	"testing"
)

func TestObjectsStoredAtThePriorVersionAreRewrittenAndTheListIsTrimmed(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 120)
	w.controller(w.quick())
	w.eventuallyMigrated(120)
}
