//go:build unix && !linux

package process

import "syscall"

// ownGroup keeps Ctrl-C in a terminal from reaching the server before the test has had its say, and lets one signal
// reach the server's children.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
