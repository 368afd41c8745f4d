package runbook

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/bridge"
	"github.com/moult-dev/moult/policies/conversion"
)

// Rehearsal is a CRD that objects are to be rehearsed with.
type Rehearsal struct {
	CRD *apiextensionsv1.CustomResourceDefinition
	// ReadAt are the versions to read them at. Default: all that they may be stored at, but for the storage version of the CRD.
	ReadAt []string
	// Report is where the answer belongs.
	Report **conversion.Report
}

// Rehearsals are those of a plan: with what the flip makes of the CRD, and on the way back with the release's schema, if that is
// another one. What only a conversion webhook knows is left out.
func Rehearsals(o *Observation) (all []Rehearsal, err error) {
	full, err := o.complete()
	if err != nil {
		return nil, err
	}
	flipped, err := Returned(full)
	if err != nil {
		return nil, err
	}
	if !full.flipped() && !crds.HasWebhook(flipped) {
		all = append(all, Rehearsal{CRD: flipped, Report: &o.Rehearsed})
	}
	if o.Return == nil {
		return all, nil
	}
	if crd, at := full.released(); crd != nil {
		all = append(all, Rehearsal{CRD: crd, ReadAt: at, Report: &o.Return.Released})
	}
	return all, nil
}

// Returned is the CRD that objects are stored by once the flip is done: the cluster's, or on the way back the one between. That is
// for a version that the cluster's does not have. It is an error if there is no way to To.
func Returned(o Observation) (*apiextensionsv1.CustomResourceDefinition, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if crds.Has(o.CRD, o.To) {
		return crds.StoredAt(o.CRD, o.To), nil
	}
	if o.Return == nil {
		return nil, fmt.Errorf("%s has no version %s yet, so nothing can be rehearsed; leave out --rehearse, or rehearse the CRD that has it with `moult rehearse --crds`", o.CRD.Name, o.To)
	}
	made, err := bridge.KeepStorage(o.CRD, o.way().Release, o.LabelKey)
	if err != nil {
		return nil, err
	}
	return crds.StoredAt(made.CRD, o.To), nil
}

// released is the CRD with the release's schema of To, and where objects are read. It is nil if the flip brings that schema. With
// a conversion webhook they are read at To, which shows what its answers would lose, or that there are none.
func (o Observation) released() (crd *apiextensionsv1.CustomResourceDefinition, readAt []string) {
	if !crds.Has(o.CRD, o.To) {
		return nil, nil
	}
	crd, release := crds.StoredAt(o.CRD, o.To), o.way().Release
	differs := release != nil && !bridge.SameSchema(o.CRD, release, o.To)
	if differs {
		crds.Version(crd, o.To).Schema = crds.Version(release, o.To).Schema.DeepCopy()
	}
	crd.Spec.Conversion = nil
	switch {
	case o.flipped() && differs:
		return crd, []string{o.To}
	case o.flipped(), !differs && !crds.HasWebhook(o.CRD):
		return nil, nil
	case !o.converted():
		return crd, crds.MayBeStoredAt(o.CRD, o.LabelKey)
	case o.served(o.To):
		return crd, []string{o.To}
	}
	return nil, nil
}

// converted reports whether a webhook converts, now or in the release.
func (o Observation) converted() bool {
	return crds.HasWebhook(o.CRD) || o.way().Release != nil && crds.HasWebhook(o.way().Release)
}
