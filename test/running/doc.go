// Package running runs Moult's reconcilers in a test's own process against a control plane, as any user the test likes,
// and looks at what they do to a CRD from outside: by what the API server answers and by the bytes in etcd.
//
//	func TestMain(m *testing.M) { running.Quiet(); controlplane.Run(m, &cp) }
//
//	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
//	w := running.Install(t, cp, crd)
//	w.Create(1000)
//	w.Flip("v1")
//	running.Migration(t, cp.Config, running.Quick(w.GR.Group))
//	g.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated))
//
// Migration runs the one reconciler, Moult runs both; InstallGate installs the CRD of VersionRemovals before it, and User
// makes a client configuration that may do what its rules say and nothing else. All that a test starts ends with it.
package running

import "time"

// Soon is how long a test waits for what must come: long enough for a machine that is slow and busy with other things,
// because a test that sees it earlier goes on earlier. Nothing may be concluded from how long it took.
const Soon = 2 * time.Minute
