// Package dashboard draws a Grafana dashboard without Grafana. It stores scraped metrics, evaluates the queries of the
// panels with Prometheus' own engine, and draws all panels in their grid as one SVG.
//
//	board, err := dashboard.Read(file) // deploy/dashboard.json
//	store := dashboard.NewStore(map[string]string{"job": "kanon", "pod": "kanon-0"})
//	err = store.Add(time.Now(), response.Body) // each second
//	err = board.Draw(ctx, out, store, dashboard.Options{Marks: []dashboard.Mark{{At: time.Now(), Title: "new parents"}}})
//
// It supports the features of Grafana that deploy/dashboard.json uses: time series, stacked or not, their units, and
// line names from labels.
package dashboard
