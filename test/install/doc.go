// Package install runs the real controller as the manifests of clusters install it: with the Deployment's arguments, as
// the ServiceAccount, with its roles and the ones that `moult rbac` prints, through the lanes of its FlowSchemas.
//
// No kubelet and no controller manager runs beside the test's API server. So a test starts the Deployment's container
// itself, as a process (controller.go), and fills the aggregated ClusterRole itself, by the rule that the controller
// manager follows (installation.go). A road between the controller and the API server (road.go) keeps a record of all
// that is asked and answered; what is concluded is concluded from that.
package install
