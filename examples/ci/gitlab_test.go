package ci_test

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// gitLab answers as the API does. The token belongs to the user project_bot.
func gitLab(t *testing.T) *host {
	t.Helper()
	ids := map[string]int{"project_bot": 11, "somebody": 12, "mallory": 13}
	show := func(n remark) map[string]any {
		return map[string]any{"id": n.id, "body": n.body, "system": false, "author": map[string]any{"id": ids[n.author], "username": n.author}}
	}
	return open(t, func(h *host, w http.ResponseWriter, r *http.Request) {
		const notes = "/projects/42/merge_requests/7/notes"
		switch route := r.Method + " " + r.URL.Path; {
		case route == "GET /user":
			answer(w, http.StatusOK, map[string]any{"id": 11, "username": "project_bot"})
		case route == "GET "+notes:
			list := []any{}
			for _, n := range h.page(r) {
				list = append(list, show(n))
			}
			answer(w, http.StatusOK, list)
		case route == "POST "+notes:
			answer(w, http.StatusCreated, show(h.add("project_bot", r.FormValue("body"))))
		case strings.HasPrefix(route, "PUT "+notes+"/"):
			for i, n := range h.remarks {
				if strings.HasSuffix(route, "/"+jsonNumber(n.id)) {
					h.remarks[i].body = r.FormValue("body")
					answer(w, http.StatusOK, show(h.remarks[i]))
					return
				}
			}
			fallthrough
		default:
			answer(w, http.StatusNotFound, map[string]any{"message": "404 Not found"})
		}
	})
}

func onGitLab(h *host) map[string]string {
	return map[string]string{"CI_API_V4_URL": h.URL, "CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "7", "GITLAB_TOKEN": "s3cret"}
}

func TestGitLabGetsOneNoteThatIsUpdated(t *testing.T) {
	for name, others := range map[string]int{"nobody else has said anything": 0, "exactly a page of others": 100, "several pages of others": 250} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := gitLab(t)
			h.talk(others)
			h.add("mallory", report)
			got := script(t, ".", "comment-gitlab.sh", onGitLab(h), written(t, "preview.md", report))
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(h.bodies("project_bot")).To(Equal([]string{report}))
			g.Expect(h.tokens).To(HaveEach("s3cret"))

			h.talk(others)
			second := strings.ReplaceAll(report, "Blocked", "Safe")
			got = script(t, ".", "comment-gitlab.sh", onGitLab(h), written(t, "preview.md", second))
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(h.bodies("project_bot")).To(Equal([]string{second}), "the same note says what is the case now")
			g.Expect(h.bodies("mallory")).To(Equal([]string{report}))
		})
	}
}

func TestGitLabsForksGetALog(t *testing.T) {
	for name, token := range map[string]string{"there is no token": "", "the token may only read": "s3cret"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := gitLab(t)
			h.refuse = func(r *http.Request) (int, string) {
				if r.Method == http.MethodGet {
					return 0, ""
				}
				return http.StatusForbidden, `{"message": "403 Forbidden"}`
			}
			env := onGitLab(h)
			env["GITLAB_TOKEN"] = token
			got := script(t, ".", "comment-gitlab.sh", env, written(t, "preview.md", report))
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(got.out).To(HaveSuffix(report))
		})
	}
}

func TestGitLabsFaultsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		method     string
		code       int
		said, says string
	}{
		"it is down":        {http.MethodGet, http.StatusBadGateway, "<html>", "GitLab answered 502 to GET "},
		"a wrong token":     {http.MethodGet, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`, ": 401 Unauthorized"},
		"an expired token":  {http.MethodGet, http.StatusUnauthorized, `{"error":"invalid_token"}`, ": invalid_token"},
		"it takes no notes": {http.MethodPost, http.StatusBadRequest, `{"message":{"note":["is too long"]}}`, `GitLab answered 400 to POST`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := gitLab(t)
			h.refuse = func(r *http.Request) (int, string) {
				if r.Method != c.method {
					return 0, ""
				}
				return c.code, c.said
			}
			got := script(t, ".", "comment-gitlab.sh", onGitLab(h), written(t, "preview.md", report))
			g.Expect(got.code).To(Equal(1))
			g.Expect(got.errOut).To(And(HavePrefix("comment-gitlab.sh: "), ContainSubstring(c.says)))
			g.Expect(got.errOut + got.out).NotTo(ContainSubstring("s3cret"))
		})
	}
}
