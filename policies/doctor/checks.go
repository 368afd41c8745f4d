package doctor

// check looks for one kind of trouble.
type check struct {
	id      ID
	examine func(ClusterState) Result
}

// The checks.
const (
	Kubernetes        ID = "kubernetes"
	LabelInGit        ID = "label-in-git"
	Migrating         ID = "migration"
	Gates             ID = "gates"
	StatusWrites      ID = "status-writes"
	OtherMigrators    ID = "other-migrators"
	CRDInGit          ID = "crd-in-git"
	Aggregation       ID = "aggregation"
	Namespaces        ID = "namespaces"
	UnreadableObjects ID = "unreadable"
	StuckObjects      ID = "stuck-objects"
	ArgoCDHealth      ID = "argocd-health"
	HelmKeep          ID = "helm-keep"
	HelmCRDs          ID = "helm-crds"
	HelmHistory       ID = "helm-history"
)

// checks are in the order in which a migration and a removal meet what they look for.
var checks = []check{
	{LabelInGit, labelInGit},
	{Migrating, migrating},
	{Aggregation, aggregation},
	{StatusWrites, statusWrites},
	{OtherMigrators, otherMigrators},
	{CRDInGit, crdInGit},
	{Gates, gates},
	{ArgoCDHealth, argoCDHealth},
	{Namespaces, namespaces},
	{UnreadableObjects, unreadableObjects},
	{StuckObjects, stuckObjects},
	{HelmKeep, helmKeep},
	{HelmCRDs, helmCRDs},
	{HelmHistory, helmHistory},
	{Kubernetes, kubernetes},
}
