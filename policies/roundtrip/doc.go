// Package roundtrip reports what a conversion loses. Each object is read at its version, stored at each other one, and
// read at its own again, by the engine of policies/conversion and with the webhook that it asks.
//
// A Checker takes the objects of one CRD, from fixtures (Fixtures) or made from the schemas (policies/generate), and a Tally sums
// up what it finds. A Kind says what is wrong, and its comment says exactly when.
package roundtrip
