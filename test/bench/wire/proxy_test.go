package wire_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/bench/wire"
)

// echo answers each line with itself and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(connection, connection) }()
		}
	}()
	return listener.Addr().String()
}

func TestEachRoundTripTakesTheDelay(t *testing.T) {
	g := NewWithT(t)
	p, err := wire.Start(echo(t), 40*time.Millisecond)
	g.Expect(err).NotTo(HaveOccurred())
	defer p.Close()
	connection, err := net.Dial("tcp", p.Addr())
	g.Expect(err).NotTo(HaveOccurred())
	answers := bufio.NewReader(connection)

	started := time.Now()
	for range 5 {
		fmt.Fprintln(connection, "ping")
		g.Expect(answers.ReadString('\n')).To(Equal("ping\n"))
	}
	g.Expect(time.Since(started)).To(BeNumerically(">=", 200*time.Millisecond))
	up, down := p.Bytes()
	g.Expect([]int64{up, down}).To(Equal([]int64{25, 25}))
}

func TestManyAtOnceWaitNoLongerThanOne(t *testing.T) {
	g := NewWithT(t)
	p, err := wire.Start(echo(t), time.Second)
	g.Expect(err).NotTo(HaveOccurred())
	defer p.Close()
	connection, err := net.Dial("tcp", p.Addr())
	g.Expect(err).NotTo(HaveOccurred())
	answers := bufio.NewReader(connection)

	started := time.Now()
	const many = 50
	for i := range many { // apart in time, so that they are read apart
		fmt.Fprintln(connection, i)
		time.Sleep(2 * time.Millisecond)
	}
	for i := range many {
		g.Expect(answers.ReadString('\n')).To(Equal(fmt.Sprintln(i)), "in order")
	}
	g.Expect(time.Since(started)).To(And(BeNumerically(">=", time.Second), BeNumerically("<", 20*time.Second)), "one by one it would be 50 s")
}

func TestItEndsWithItsConnections(t *testing.T) {
	g := NewWithT(t)
	p, err := wire.Start(echo(t), 0)
	g.Expect(err).NotTo(HaveOccurred())
	connection, err := net.Dial("tcp", p.Addr())
	g.Expect(err).NotTo(HaveOccurred())
	fmt.Fprintln(connection, "ping")
	g.Expect(bufio.NewReader(connection).ReadString('\n')).To(Equal("ping\n"))
	p.Close()
	_, err = connection.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	_, err = net.Dial("tcp", p.Addr())
	g.Expect(err).To(HaveOccurred())
}
