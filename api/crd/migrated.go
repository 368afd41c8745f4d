package crd

import (
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Migration is what the condition StorageMigrated says of a CRD.
type Migration struct {
	OptedIn bool
	// Migrated is true when the condition is True for the CRD as it is now.
	Migrated bool
	// Reason and Message are the condition's; empty when there is none yet.
	Reason, Message string
	// Outdated conditions speak of an earlier generation of the CRD.
	Outdated bool
}

// MigrationOf reads the condition. The opt-in label is labelKey. Says reports whether Moult has written it.
func MigrationOf(crd *apiextensionsv1.CustomResourceDefinition, labelKey string) Migration {
	m := Migration{OptedIn: OptedIn(crd, labelKey)}
	if c := apihelpers.FindCRDCondition(crd, v1alpha1.StorageMigrated); c != nil {
		m.Reason, m.Message = c.Reason, c.Message
		m.Outdated = !v1alpha1.SpeaksOf(c.Message, crd.Generation)
		m.Migrated = m.OptedIn && !m.Outdated && c.Status == apiextensionsv1.ConditionTrue
	}
	return m
}
