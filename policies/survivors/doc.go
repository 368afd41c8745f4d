// Package survivors finds what still names a version that is to be removed from a CRD: references to custom resources and stashed
// copies of them, in other objects. Every stored object may be at the new version, and the removal can break the
// cluster all the same. An owner reference, a webhook's rule or a copy in a ControllerRevision may name the old one.
//
// The places where a version can lie are data: one YAML document each, in the folder places, in the format of Place.
// Load reads them strictly. A Walker reads one object by them and returns a Reference for each place that names a
// leaving version, or of which that is not known. A payload that cannot be decoded, or has no kind, is unknown and
// never none. What lies in no declared place is found by a walk over everything else, and is possible: it never holds
// anything up.
//
// A Survey collects the references of all objects, with what was looked at and what was not, and becomes a Report with one
// verdict. All of it is pure; clusters/inspect reads the cluster.
package survivors
