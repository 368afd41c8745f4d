package health

import "github.com/moult-dev/moult/api/v1alpha1"

// CRD is the health of a CustomResourceDefinition. Without the opt-in label it is the verdict of Argo CD's built-in
// script (v3.5.7, resource_customizations/apiextensions.k8s.io/CustomResourceDefinition), word for word. With the
// label, a CRD that would be Healthy has to wait until all its objects are proved to be stored at the storage version:
//
//  1. StorageMigrated is missing or about another generation: Progressing
//  2. it is True: Healthy
//  3. it names something that waits for a commit or a person: Degraded
//  4. anything else: Progressing
func CRD(obj map[string]any) Verdict {
	object := content(obj)
	served := builtin(object)
	if served.Status != Healthy || object.part("metadata").part("labels").text(v1alpha1.MigrateLabel) != v1alpha1.MigrateLabelValue {
		return served
	}
	migrated := object.condition(v1alpha1.StorageMigrated)
	message := migrated.text("message")
	switch {
	case migrated == nil:
		return progressing("Moult has not looked at this CRD yet")
	case !migrated.speaksOf(object):
		return progressing(notLookedYet + "; last: " + or(message, "nothing"))
	case migrated.text("status") == "True":
		return healthy(or(message, "all objects are stored at the storage version"))
	case migrated.text("reason") == v1alpha1.ReasonStorageVersionNotServed:
		return degraded(or(message, "the storage version is not served"))
	case migrated.text("reason") == v1alpha1.ReasonFieldsWouldBeLost:
		return degraded(or(message, "objects would lose fields"))
	default:
		return progressing(or(message, "not all objects are proved to be stored at the storage version"))
	}
}

// builtin is Argo CD's own verdict: the first condition that decides wins.
func builtin(object content) Verdict {
	if object.part("metadata")["deletionTimestamp"] != nil {
		return progressing("CRD is terminating")
	}
	conditions := object.conditions()
	if len(conditions) == 0 {
		return progressing("Status conditions not found")
	}
	established := false
	for _, condition := range conditions {
		if verdict, decides := decided(condition); decides {
			return verdict
		}
		established = established || condition.is("Established", "True")
	}
	if !established {
		return progressing("CRD is not established")
	}
	return healthy("CRD is healthy")
}

// decided is the verdict of a condition that leaves no question open.
func decided(condition content) (verdict Verdict, decides bool) {
	message := condition.text("message")
	switch {
	case condition.is("Terminating", "True"):
		return progressing("CRD is terminating: " + message), true
	case condition.is("NamesAccepted", "False"):
		return degraded("CRD names have not been accepted: " + message), true
	case condition.is("NonStructuralSchema", "True"):
		return degraded("Schema violations found: " + message), true
	case condition.text("type") != "Established" || condition.text("status") == "True":
		return Verdict{}, false
	case condition.text("reason") == "InvalidCABundle":
		return degraded("CRD is not established: " + message), true
	case condition.text("reason") == "Installing":
		return progressing("CRD is being installed"), true
	default:
		return Verdict{}, false
	}
}
