//go:build !unix

package converters

import "os/exec"

func ownGroup(*exec.Cmd) {}

func terminate(c *exec.Cmd) { kill(c) }

func kill(c *exec.Cmd) { _ = c.Process.Kill() } // it may have ended
