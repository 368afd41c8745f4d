package health

// VersionRemoval reports whether the versions may be removed now. The rules are
// kstatus', in its order, except that an object Moult has said nothing about is
// Progressing, where kstatus would call it Current:
//
//  1. being deleted: Progressing
//  2. status.observedGeneration is not metadata.generation: Progressing
//  3. Reconciling or Stalled is True, the first of them: Progressing, Degraded
//  4. Ready is True: Healthy
//  5. anything else: Progressing
//
// The message is the Ready condition's reason and message, while Progressing
// with the count of objects.
func VersionRemoval(obj map[string]any) Verdict {
	object := content(obj)
	ready := object.condition("Ready")
	switch {
	case object.part("metadata")["deletionTimestamp"] != nil:
		return progressing("the VersionRemoval is being deleted")
	case !observed(object):
		return progressing(notLookedYet)
	}
	for _, condition := range object.conditions() {
		if condition.is("Reconciling", "True") {
			return progressing(sentence(ready, "Moult is at work") + count(object))
		}
		if condition.is("Stalled", "True") {
			return degraded(sentence(ready, sentence(condition, "a commit is needed")))
		}
	}
	if ready.text("status") == "True" {
		return healthy(sentence(ready, "the versions may be removed"))
	}
	return progressing(sentence(ready, "Moult has not yet answered whether the versions may be removed") + count(object))
}

// observed reports whether the status is about the spec as it is now.
func observed(object content) bool {
	generation, known := object.part("metadata").number("generation")
	observed, reported := object.part("status").number("observedGeneration")
	return known && reported && observed == generation
}

// sentence is a condition in words, or what to say instead of nothing.
func sentence(condition content, instead string) string {
	reason, message := condition.text("reason"), condition.text("message")
	if reason != "" && message != "" {
		return reason + ": " + message
	}
	return or(reason+message, instead)
}

// count is the walk's progress as a suffix, for example " (400/1000)".
func count(object content) string {
	summary := object.part("status").part("progress").text("summary")
	if summary == "" {
		return ""
	}
	return " (" + summary + ")"
}
