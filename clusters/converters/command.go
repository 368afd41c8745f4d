package converters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
)

const (
	// startTime is how long a command may take until it listens, and stopTime until it has ended.
	startTime = time.Minute
	startPoll = 50 * time.Millisecond
	stopTime  = 10 * time.Second
	// tailBytes is how much of what it prints is kept, to be told if it does not start.
	tailBytes = 2 << 10
)

// Command is a webhook that was started.
type Command struct {
	// CA is its certificate authority, in PEM.
	CA []byte

	address string
	folder  string
	process *exec.Cmd
	ended   chan struct{}
	printed *tail
}

// Start has a shell run a command that serves a webhook on 127.0.0.1, and waits until it listens: at the port WEBHOOK_PORT, with
// tls.crt and tls.key of the folder WEBHOOK_CERT_DIR. Stop ends it.
func Start(ctx context.Context, command string) (c *Command, err error) {
	c = &Command{ended: make(chan struct{}), printed: &tail{}}
	if c.folder, err = os.MkdirTemp("", "moult-webhook-"); err != nil {
		return nil, err
	}
	if err := c.run(command); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.folder))
	}
	if err := c.listens(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// URL is the address of a path.
func (c *Command) URL(path string) string { return "https://" + c.address + path }

func (c *Command) run(command string) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	c.CA = certificate
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(c.folder, name), content, 0o600); err != nil {
			return err
		}
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	c.address = net.JoinHostPort("127.0.0.1", port)
	c.process = exec.Command("sh", "-c", command) //nolint:gosec,noctx // what the user asks for; Stop ends it, with all that it has started
	c.process.Env = append(os.Environ(), "WEBHOOK_PORT="+port, "WEBHOOK_CERT_DIR="+c.folder)
	c.process.Stdout, c.process.Stderr = c.printed, c.printed
	c.process.WaitDelay = stopTime // what it has left behind may hold its output open
	ownGroup(c.process)
	if err := c.process.Start(); err != nil {
		return err
	}
	go func() {
		defer close(c.ended)
		_ = c.process.Wait() // how it ends is no matter; what it printed is reported if it was too early
	}()
	return nil
}

// freePort is one that no process listens at.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// listens waits until somebody does.
func (c *Command) listens(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, startPoll, startTime, true, func(ctx context.Context) (bool, error) {
		select {
		case <-c.ended:
			return false, fmt.Errorf("it has ended before it listened at %s (WEBHOOK_PORT): %s", c.address, c.printed)
		default:
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
		return err == nil && connection.Close() == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("it does not listen at %s (WEBHOOK_PORT) after %s: %s", c.address, startTime, c.printed)
	}
	return err
}

// Ended reports whether the command has ended by itself, and what it printed.
func (c *Command) Ended() (printed string, ended bool) {
	select {
	case <-c.ended:
		return c.printed.String(), true
	default:
		return "", false
	}
}

// Stop ends the command, and what it has started.
func (c *Command) Stop() {
	terminate(c.process)
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
	kill(c.process)
	<-c.ended
	_ = os.RemoveAll(c.folder) // a certificate that no client trusts any more
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailBytes):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.kept)); text != "" {
		return "it printed " + strconv.Quote(text)
	}
	return "it printed nothing"
}
