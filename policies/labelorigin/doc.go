// Package labelorigin reports who owns the opt-in label of a CRD, and where the label would go at the next sync.
//
// People label the live object and expect their delivery tool to respect that; the manifest in Git wins. What
// distinguishes the two is on the CRD itself: whose entry in managedFields owns the label, and what the annotation of
// the last client-side apply names. It also matters which tool has left its name. Of reads that and answers with a
// Verdict; the ordered list in rules.go is the specification. It is pure, and asks no server: the controller, the gate
// and `moult doctor` say the same about the same CRD.
//
// What the tools do is read from their sources (Argo CD v3.5.7, kustomize-controller v1.9.5, fluxcd/pkg/ssa v0.76.2) and
// shown in docs/doctor.md, with how each trace looks.
package labelorigin
