package commands

import (
	"regexp"
	"slices"
	"strings"
)

// A job that creates a cluster of kind, k3d or minikube installs into that cluster, and its objects go with it. So the commands of such a job are
// passed over. They count all the same if the cluster is created only under a condition. They also count if the job names another cluster, by a
// context, a kubeconfig or credentials that are not of its own: it is not known which command goes where.

var (
	ofThrowaway = regexp.MustCompile(`\b(?:kind|k3d|minikube|ctlptl)\b`)
	// another names a cluster, by a value or by how its credentials come.
	another = regexp.MustCompile(`(?:--(?:kube-)?context|--kubeconfig|\bKUBECONFIG["']?\s*[:=]|use-context)[ \t=]*["']?([^\s"'\\;)]+)|-credentials\b|update-kubeconfig|-set-context\b|kube-?config[\w-]*@|kubeconfig save|\boc login\b|\bkubectx\b|\btsh kube\b|--server[ =]|KUBE_?CONFIG\w*\s*\}\}`)
	// ofPreparing are actions that choose no cluster. Of another one it is not known.
	ofPreparing = regexp.MustCompile(`/checkout@|/(?:setup|install)[\w-]*@|/setup/|cache|artifact|^docker/|/(?:[\w-]*-)?(?:kind|minikube|k3d)(?:-[\w-]*)?@`)
	// words are those of a text that may be names.
	names = regexp.MustCompile(`[A-Za-z_][\w./-]*`)
)

// goesToThrowaway reports whether a job installs into a cluster that it creates, and into no other.
func (j job) goesToThrowaway(standing map[string]call) bool {
	var own strings.Builder
	isCreated := false
	for _, one := range j.statements {
		for _, command := range one.commands {
			does, program := command.does(standing)
			if program == "uses:" && !ofPreparing.MatchString(command[1]) {
				return false
			}
			isCreated = isCreated || does&creates != 0 && !one.maybe && !j.onlyMaybe(one.function)
			if byProgram[program] != nil && ofThrowaway.MatchString(program) {
				own.WriteString(one.text + "\n")
			}
		}
	}
	if !isCreated {
		return false
	}
	known := names.FindAllString(own.String(), -1)
	for _, found := range another.FindAllStringSubmatch(j.text, -1) {
		given, _ := Definitions(j.text, []string{found[1]})
		value := found[1] + "\n" + given
		isOwn := found[1] != "" && (ofThrowaway.MatchString(value) || slices.ContainsFunc(names.FindAllString(value, -1), func(name string) bool { return name != "KUBECONFIG" && slices.Contains(known, name) }))
		if !isOwn {
			return false
		}
	}
	return true
}

// onlyMaybe reports whether a function is called only under conditions.
func (j job) onlyMaybe(function string) bool {
	always, called := false, false
	for _, one := range j.statements {
		for _, command := range one.commands {
			if function != "" && slices.Contains(command, function) {
				called, always = true, always || !one.maybe
			}
		}
	}
	return called && !always
}
