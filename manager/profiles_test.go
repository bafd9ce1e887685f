package manager

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
)

func TestCheckProfilesAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:6060": true,
		"[::1]:6060":     true,
		"localhost:0":    true,
		"0.0.0.0:6060":   false,
		":6060":          false,
		"10.0.0.1:6060":  false,
		"127.0.0.1":      false,
		"example.com:80": false,
	} {
		if err := CheckProfilesAddress(address); (err == nil) != ok {
			t.Errorf("%s: error %v, accepted: %t", address, err, ok)
		}
	}
}

func TestServeProfiles(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var logged strings.Builder
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{}))
	stop, err := serveProfiles(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(logged.String(), `"at"="`)
	address = strings.TrimSuffix(address, `"`)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"heap", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the profile of the heap: %s", response.Status)
	}
	stop()
	if response, err := client.Do(request); err == nil {
		_ = response.Body.Close()
		t.Error("it serves after its end")
	}
}
