package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
)

// bindImpersonation adds the flags that kubectl has for it (k8s.io/cli-runtime/pkg/genericclioptions/config_flags.go).
func bindImpersonation(flags *pflag.FlagSet, as *rest.ImpersonationConfig) {
	flags.StringVar(&as.UserName, "as", "", "user to act as, for example a service account: "+inspect.ControllerUser)
	flags.StringArrayVar(&as.Groups, "as-group", nil, "group to act as a member of; may be repeated")
	flags.StringVar(&as.UID, "as-uid", "", "UID to act with")
}

// impersonate puts the flags in the place of what the kubeconfig says. It changes the finished configuration, and not
// how it is loaded. clientcmd drops overrides of the user when it falls back to the cluster that this runs in, as it
// does in a Job.
func impersonate(cfg *rest.Config, as rest.ImpersonationConfig) error {
	if as.UserName != "" { // the groups of somebody else in the kubeconfig are not this user's
		cfg.Impersonate = rest.ImpersonationConfig{UserName: as.UserName}
	}
	if (len(as.Groups) > 0 || as.UID != "") && cfg.Impersonate.UserName == "" {
		return errors.New("--as-group and --as-uid say more about a user; name the user with --as")
	}
	if len(as.Groups) > 0 {
		cfg.Impersonate.Groups = as.Groups
	}
	if as.UID != "" {
		cfg.Impersonate.UID = as.UID
	}
	return nil
}

// IsImpersonationRefused reports whether a request was refused because of the user it was to be made as, before it was
// looked at what it asks for. The verb is impersonate, or one that begins so
// (k8s.io/apiserver/pkg/endpoints/filters/impersonation).
func IsImpersonationRefused(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot impersonate")
}

// ImpersonationError is what to do about that.
func ImpersonationError(err error) error {
	return fmt.Errorf("%w; acting as another user (--as, or `as` in the kubeconfig) needs the verb impersonate on that user, service account or group: "+
		"have it granted, or ask without --as", err)
}

// guarded is how a refusal by the policy that guards the status begins; copies of the policy have a prefix or a suffix.
var guarded = regexp.MustCompile(`ValidatingAdmissionPolicy '[^']*moult-status[^']*'`)

// WhoMayWrite is what to do about a write to the status that policies/admission refuses; empty if something else refuses it.
func WhoMayWrite(text string) string {
	if !guarded.MatchString(text) {
		return ""
	}
	return fmt.Sprintf("only Moult's own user passes that policy, so run the same command with --as %s, or with another user if the first variable of the policy names one",
		inspect.ControllerUser)
}
