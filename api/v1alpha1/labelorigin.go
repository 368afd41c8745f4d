package v1alpha1

// EventOptInNotInGit is the reason of an Event on a CustomResourceDefinition, and the kind of a warning in a
// VersionRemoval's status. The opt-in label is on the live object only, so that a sync, or a rebuilt cluster, loses it.
const EventOptInNotInGit = "OptInNotInGit"
