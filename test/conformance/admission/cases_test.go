package admission

const (
	statusPolicy   = "moult-status"
	optInPolicy    = "moult-opt-in"
	storagePolicy  = "moult-storage-version"
	removalPolicy  = "moult-version-removal"
	deletionPolicy = "moult-deletion"
)

// The endpoints and verbs that a case writes with.
const (
	main          = "main"
	status        = "status"
	deletion      = "delete"
	deletionOfAll = "delete the collection"
	creation      = "create"
)

// A kase is one write to a CRD in one of the states.
type kase struct {
	on string // the state
	by string // the user; person if empty
	at string // the endpoint or verb
	do change
	// breaks is the policy that it breaks, empty if it is fine.
	breaks string
	// says is what its client is told, among other things.
	says string
}

// cases are all rules as sentences.
var cases = join(statusCases, labelCases, storageCases, removalCases, wholeCases)

func join(tables ...map[string]kase) map[string]kase {
	all := map[string]kase{}
	for _, table := range tables {
		for name, k := range table {
			all[name] = k
		}
	}
	return all
}

// What Moult alone writes: storedVersions with fewer entries, and two conditions.
var statusCases = map[string]kase{
	"a person trims": {on: "flipped", at: status, do: storedVersions("v1"), breaks: statusPolicy,
		says: "alice may not take v1alpha1 out of storedVersions"},
	"a person empties storedVersions": {on: "flipped", at: status, do: storedVersions(), breaks: statusPolicy,
		says: `moult.dev/allow-trim: "v1alpha1"`},
	"a person trims to the old version": {on: "flipped", at: status, do: storedVersions("v1alpha1"), breaks: statusPolicy,
		says: "alice may not take v1 out"},
	"Moult's name in another namespace trims": {on: "flipped", at: status, by: "system:serviceaccount:default:moult-controller",
		do: storedVersions("v1"), breaks: statusPolicy, says: "moult-controller may not take v1alpha1 out"},
	"a trim of what another annotation allows": {on: "flipped", at: status,
		do: all(annotate("moult.dev/allow-trim", "v1beta1"), storedVersions("v1")), breaks: statusPolicy, says: "may not take v1alpha1 out"},
	"a trim in the write that opts in": {on: "foreign", at: status,
		do: all(label("true"), storedVersions("v0")), breaks: statusPolicy, says: "may not take v1 out"},
	"a trim in the write that opts out": {on: "flipped", at: status,
		do: all(noLabels, annotate("moult.dev/allow-opt-out", nameOf("flipped")), storedVersions("v1")), breaks: statusPolicy, says: "may not take v1alpha1 out"},
	"Moult trims":                                {on: "flipped", at: status, by: moult, do: storedVersions("v1")},
	"the in-tree migrator trims":                 {on: "flipped", at: status, by: inTree, do: all(inTreeSays("MigrationSucceeded"), storedVersions("v1"))},
	"the in-tree migrator trims without account": {on: "flipped", at: status, by: inTreeBare, do: all(inTreeSays("MigrationSucceeded"), storedVersions("v1"))},
	"the in-tree migrator trims after it has failed": {on: "flipped", at: status, by: inTree, do: all(inTreeSays("MigrationFailed"), storedVersions("v1")), breaks: statusPolicy,
		says: "may not take v1alpha1 out"},
	"the in-tree migrator trims without a word": {on: "flipped", at: status, by: inTree, do: storedVersions("v1"), breaks: statusPolicy, says: "may not take v1alpha1 out"},
	"the in-tree migrator trims when it begins": {on: "flipped", at: status, by: inTree, do: all(condition("StorageMigrating", "True"), storedVersions("v1")), breaks: statusPolicy,
		says: "may not take v1alpha1 out"},
	"the in-tree migrator says that it has failed": {on: "flipped", at: status, by: inTree, do: inTreeSays("MigrationFailed")},
	"a person trims as if the in-tree migrator had succeeded": {on: "flipped", at: status, do: all(inTreeSays("MigrationSucceeded"), storedVersions("v1")), breaks: statusPolicy,
		says: "may not take v1alpha1 out"},
	"a restore adds to storedVersions":    {on: "migrated", at: status, do: storedVersions("v1alpha1", "v1")},
	"a trim that the CRD allows":          {on: "lenient", at: status, do: all(noAnnotations, storedVersions("v1"))},
	"a trim that the write allows":        {on: "flipped", at: status, do: all(annotate("moult.dev/allow-trim", "v1alpha1"), storedVersions("v1"))},
	"a trim of a CRD that never opted in": {on: "foreign", at: status, do: storedVersions("v0")},

	"a person claims the proof": {on: "unproved", at: status, do: condition("StorageMigrated", "True"), breaks: statusPolicy,
		says: "alice may not write the condition StorageMigrated"},
	"a person claims that versions may go": {on: "migrated", at: status, do: condition("VersionsRemovable", "True"), breaks: statusPolicy,
		says: `moult.dev/allow-condition: "VersionsRemovable"`},
	"a person turns a condition": {on: "revoked", at: status, do: condition("VersionsRemovable", "True"), breaks: statusPolicy,
		says: "may not write the condition VersionsRemovable"},
	// The message names the versions, and the rule on removals reads them there.
	"a person names one more version that may go": {on: "safe", at: status, do: sayMore("VersionsRemovable", ", v1beta1"), breaks: statusPolicy,
		says: "may not write the condition VersionsRemovable"},
	"a person makes an old word one about the CRD as it is": {on: "outdated", at: status, do: reword("VersionsRemovable", "generation 1: ", "generation 2: "),
		breaks: statusPolicy, says: "may not write the condition VersionsRemovable"},
	"a person words the proof otherwise": {on: "migrated", at: status, do: sayMore("StorageMigrated", ", and at v2"), breaks: statusPolicy,
		says: "may not write the condition StorageMigrated"},
	"Moult names one more version that may go": {on: "safe", at: status, by: moult, do: sayMore("VersionsRemovable", ", v1beta1")},
	"a person takes a condition away": {on: "migrated", at: status, do: condition("StorageMigrated", ""), breaks: statusPolicy,
		says: "may not write the condition StorageMigrated"},
	"a person takes all conditions away": {on: "safe", at: status, do: noConditions, breaks: statusPolicy,
		says: "may not write the condition StorageMigrated, VersionsRemovable"},
	"a condition while another is allowed": {on: "unproved", at: status,
		do: all(annotate("moult.dev/allow-condition", "VersionsRemovable"), condition("StorageMigrated", "True")), breaks: statusPolicy, says: "may not write"},
	"the in-tree migrator claims the proof": {on: "unproved", at: status, by: inTree, do: condition("StorageMigrated", "True"), breaks: statusPolicy,
		says: "may not write the condition"},
	"Moult says that it is migrated":             {on: "unproved", at: status, by: moult, do: condition("StorageMigrated", "True")},
	"Moult says that versions may go":            {on: "migrated", at: status, by: moult, do: condition("VersionsRemovable", "True")},
	"Moult takes a condition back":               {on: "migrated", at: status, by: moult, do: condition("StorageMigrated", "")},
	"the in-tree migrator writes its own":        {on: "migrated", at: status, by: inTree, do: condition("StorageMigrating", "True")},
	"a condition that the write allows":          {on: "migrated", at: status, do: all(annotate("moult.dev/allow-condition", "StorageMigrated"), condition("StorageMigrated", ""))},
	"a condition that the CRD allows":            {on: "lenient", at: status, do: all(noAnnotations, condition("StorageMigrated", "True"))},
	"the condition on a CRD that never opted in": {on: "foreign", at: status, do: condition("StorageMigrated", "True")},
	"a status without conditions":                {on: "fresh", at: status, do: noConditions},
	"a write to the status that changes nothing": {on: "safe", at: status, do: all()},
}

var labelCases = map[string]kase{
	"the label is lost": {on: "fresh", at: main, do: noLabels, breaks: optInPolicy,
		says: `moult.dev/allow-opt-out: "freshs.states.example.com"`},
	"the label gets another value": {on: "fresh", at: main, do: label("false"), breaks: optInPolicy,
		says: "this write by alice drops the label"},
	"the label is lost through the status": {on: "fresh", at: status, do: noLabels, breaks: optInPolicy, says: "drops the label"},
	"an opt-out with another CRD's name": {on: "fresh", at: main,
		do: all(noLabels, annotate("moult.dev/allow-opt-out", nameOf("flipped"))), breaks: optInPolicy, says: "drops the label"},
	"an opt-out that the write allows":              {on: "fresh", at: main, do: all(noLabels, annotate("moult.dev/allow-opt-out", nameOf("fresh")))},
	"an opt-out that the CRD allows":                {on: "leaving", at: main, do: all(noLabels, noAnnotations)},
	"an opt-out through the status that is allowed": {on: "leaving", at: status, do: noLabels},
	"another label changes":                         {on: "fresh", at: main, do: func(c *crd) { c.Labels["team"] = "a" }},
	"a CRD that never opted in loses labels":        {on: "foreign", at: main, do: noLabels},
	"a CRD opts in":                                 {on: "foreign", at: main, do: label("true")},
}

var storageCases = map[string]kase{
	"the storage moves to a version not served": {on: "fresh", at: main, do: storeAt("v1beta1"), breaks: storagePolicy,
		says: "may not move from v1alpha1 to v1beta1"},
	"the storage moves to one served from now on": {on: "fresh", at: main, do: all(serve("v1beta1", true), storeAt("v1beta1")), breaks: storagePolicy,
		says: "first commit v1beta1 with served: true"},
	"the storage moves to a new version": {on: "fresh", at: main, do: all(add("v2"), storeAt("v2")), breaks: storagePolicy,
		says: `moult.dev/allow-storage: "v2"`},
	"a flip that allows another version": {on: "fresh", at: main,
		do: all(annotate("moult.dev/allow-storage", "v1"), storeAt("v1beta1")), breaks: storagePolicy, says: "may not move"},
	"a flip in the write that opts in": {on: "foreign", at: main,
		do: all(label("true"), add("v2"), storeAt("v2")), breaks: storagePolicy, says: "may not move"},
	"a flip in the write that opts out": {on: "fresh", at: main,
		do: all(noLabels, annotate("moult.dev/allow-opt-out", nameOf("fresh")), storeAt("v1beta1")), breaks: storagePolicy, says: "may not move"},
	"the storage moves to a served version": {on: "fresh", at: main, do: storeAt("v1")},
	"the flip is rolled back":               {on: "flipped", at: main, do: storeAt("v1alpha1")},
	"a flip that the write allows":          {on: "fresh", at: main, do: all(annotate("moult.dev/allow-storage", "v1beta1"), storeAt("v1beta1"))},
	"a flip that the CRD allows":            {on: "lenient", at: main, do: all(noAnnotations, storeAt("v1beta1"))},
	"a flip of a CRD that never opted in":   {on: "foreign", at: main, do: storeAt("v1beta1")},
}

var removalCases = map[string]kase{
	"a removal that nobody has asked about": {on: "unproved", at: main, do: remove("v1alpha1"), breaks: removalPolicy,
		says: "v1alpha1 may not be removed, because no VersionRemoval has found that safe for generation 2 of the CRD (its condition VersionsRemovable is not there)"},
	"a removal after the migration alone": {on: "migrated", at: main, do: remove("v1alpha1"), breaks: removalPolicy,
		says: "commit a VersionRemoval for v1alpha1"},
	"a removal that is safe no more": {on: "revoked", at: main, do: remove("v1alpha1"), breaks: removalPolicy,
		says: "VersionsRemovable is False for generation 2: v0, v1alpha1)"},
	"a removal that was safe for the CRD as it was": {on: "outdated", at: main, do: remove("v1alpha1"), breaks: removalPolicy,
		says: "VersionsRemovable is True for generation 1: v0, v1alpha1)"},
	"a removal of more than is safe": {on: "safe", at: main, do: remove("v1alpha1", "v1beta1"), breaks: removalPolicy,
		says: "v1beta1, v1alpha1 may not be removed"},
	"a removal that allows less": {on: "unproved", at: main,
		do: all(annotate("moult.dev/allow-removal", "v1alpha1"), remove("v1alpha1", "v1beta1")), breaks: removalPolicy, says: "may not be removed"},
	"a removal in the write that opts in": {on: "foreign", at: main,
		do: all(label("true"), remove("v1alpha1")), breaks: removalPolicy, says: "may not be removed"},
	"a removal in the write that opts out": {on: "unproved", at: main,
		do: all(noLabels, annotate("moult.dev/allow-opt-out", nameOf("unproved")), remove("v1alpha1")), breaks: removalPolicy, says: "may not be removed"},
	"a version that was only just added is taken back": {on: "fresh", at: main, do: remove("v1beta1"), breaks: removalPolicy,
		says: `moult.dev/allow-removal: "v1beta1"`},
	"a removal that is safe":                   {on: "safe", at: main, do: remove("v1alpha1")},
	"a removal that is safe or allowed":        {on: "safe", at: main, do: all(annotate("moult.dev/allow-removal", "v1beta1"), remove("v1alpha1", "v1beta1"))},
	"a removal that the write allows":          {on: "unproved", at: main, do: all(annotate("moult.dev/allow-removal", "v1beta1, v1alpha1"), remove("v1alpha1"))},
	"a removal that the CRD allows":            {on: "lenient", at: main, do: all(noAnnotations, remove("v1beta1"))},
	"a removal from a CRD that never opted in": {on: "foreign", at: main, do: remove("v1alpha1")},
	"a version is added":                       {on: "unproved", at: main, do: add("v2")},
	"the rollback of a removal":                {on: "safe", at: main, do: add("v0")},
	"a version is served no more":              {on: "unproved", at: main, do: serve("v1alpha1", false)},
}

// The CRD itself: a deletion, a first install, and a restore, which brings the status of another cluster.
var wholeCases = map[string]kase{
	"a deletion": {on: "fresh", at: deletion, breaks: deletionPolicy, says: `moult.dev/allow-deletion: "freshs.states.example.com"`},
	"a deletion by Moult": {on: "fresh", at: deletion, by: moult, breaks: deletionPolicy,
		says: "deleting it deletes all its objects"},
	"a deletion confirmed without the name":   {on: "careless", at: deletion, breaks: deletionPolicy, says: "To confirm"},
	"a deletion of all CRDs":                  {on: "fresh", at: deletionOfAll, breaks: deletionPolicy, says: "To confirm"},
	"a deletion that is confirmed":            {on: "doomed", at: deletion},
	"a deletion of what is going already":     {on: "going", at: deletion},
	"a deletion of a CRD that never opted in": {on: "foreign", at: deletion},
	"a first install":                         {on: "fresh", at: creation, do: rename("firsts")},
	"a first install at the last version":     {on: "fresh", at: creation, do: all(rename("firsts"), storeAt("v1"), remove("v1alpha1", "v1beta1"))},
	"a restore from a backup":                 {on: "safe", at: creation, do: rename("backups")},
}
