package controlplane

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// Backup is what etcd held at one moment, as its disk shows it.
type Backup struct{ dir string }

// Backup copies etcd's disk while etcd is stopped in its tracks (SIGSTOP), as a snapshot of a virtual machine does. Clients
// notice a pause of some milliseconds at most.
func (cp *ControlPlane) Backup() (b Backup, err error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.attached {
		return b, errShared
	}
	if b.dir, err = os.MkdirTemp(cp.files.dir, "backup-"); err != nil {
		return b, err
	}
	if err := cp.signalEtcd(syscall.SIGSTOP); err != nil {
		return b, err
	}
	err = os.CopyFS(b.dir, os.DirFS(cp.files.path(etcdName)))
	return b, errors.Join(err, cp.signalEtcd(syscall.SIGCONT))
}

// Restore stops all servers and etcd, puts the disk of the backup in place of etcd's, and starts them again at their old
// addresses. The revisions of etcd, which are the resourceVersions, go on from those of the backup.
func (cp *ControlPlane) Restore(b Backup) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.attached {
		return errShared
	}
	servers := append(slices.Clone(cp.others), cp.first)
	etcd, data := cp.env.ControlPlane.Etcd, cp.files.path(etcdName)
	for _, s := range servers {
		_ = s.Kill() // or it waits for watches to end; one that has ended is stopped below
	}
	if err := errors.Join(stopAll(servers), etcd.Stop(), os.RemoveAll(data)); err != nil {
		return err
	}
	if err := os.CopyFS(data, os.DirFS(b.dir)); err != nil {
		return err
	}
	if err := etcd.Start(); err != nil {
		return fmt.Errorf("etcd did not start from its backup: %w\n%s", err, cp.files.lastLogLines())
	}
	for _, s := range servers {
		if err := s.start(); err != nil {
			return fmt.Errorf("%s did not start from a restored etcd: %w\n%s", s.Config.Host, err, cp.files.lastLogLines())
		}
	}
	return nil
}

func (cp *ControlPlane) signalEtcd(sig syscall.Signal) error {
	return signal(cp.files.pid(etcdName), etcdName, sig)
}
