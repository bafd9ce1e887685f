// Package dashboard draws a Grafana dashboard without Grafana: it keeps what was scraped, evaluates the queries of the panels with
// Prometheus' own engine, and draws the panels in their grid as one SVG.
//
//	board, err := dashboard.Read(file) // deploy/dashboard.json
//	store := dashboard.NewStore(map[string]string{"job": "kanon", "pod": "kanon-0"})
//	err = store.Add(time.Now(), response.Body) // each second
//	err = board.Draw(ctx, out, store, dashboard.Options{Marks: []dashboard.Mark{{At: time.Now(), Title: "new parents"}}})
//
// It knows what deploy/dashboard.json uses of Grafana: time series, stacked or not, their units, and names of lines from labels.
package dashboard
