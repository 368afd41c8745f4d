// Package plan decides what happens next to one CustomResourceDefinition.
//
// It is pure: an Observation goes in, a Decision comes out, and neither a
// client nor a clock is in sight. The ordered list in rules.go is the
// specification; read it first. What makes a removal safe, the proof, is kept
// in Evidence: how it begins, what a finished walk adds to it and what makes it
// worthless again.
package plan
