//! What every page must do, whatever it is of: load nothing, lead somewhere, sort, filter, and say more where one hovers.

use crate::browser::Page;
use serde_json::{Value, json};

/// Nothing was asked of a network, and nothing failed.
pub fn clean(page: &Page, name: &str) {
    assert_eq!(page.requests_beyond_the_disk(), Vec::<String>::new(), "{name}");
    assert_eq!(page.complaints(), Vec::<String>::new(), "{name}");
}

/// Every link inside the page leads somewhere, and to one place.
pub fn leads_somewhere(page: &mut Page) {
    let lost = "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href').slice(1))\
                .filter(id => !document.getElementById(id))";
    assert_eq!(page.eval(lost), json!([]));
    let twice = "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i)";
    assert_eq!(page.eval(twice), json!([]));
}

/// These elements (selectors of JavaScript, in a list) lie below each other in this order; their upper ends in pixels.
pub fn lie_in_order(page: &mut Page, selectors: &str) -> Vec<f64> {
    let tops = page.eval(&format!("{selectors}.map(s => document.querySelector(s).getBoundingClientRect().top)"));
    let tops = numbers(tops);
    assert!(tops.windows(2).all(|w| w[0] < w[1]), "{tops:?}");
    tops
}

/// A click on the head of a column (of which this is a part) sorts a table of at least `fewest` values downwards, the next
/// one upwards. `kept` filters the values in JavaScript.
pub fn sorts(page: &mut Page, table: &str, column: &str, kept: &str, fewest: usize) {
    let column = format!(
        "(() => {{ const t = document.getElementById('{table}');\
         const i = [...t.tHead.rows[0].cells].findIndex(c => c.textContent.includes('{column}'));"
    );
    let values =
        format!("{column} return [...t.tBodies[0].rows].map(r => parseFloat(r.cells[i].dataset.v)){kept}; }})()");
    let click = format!(
        "{column} t.tHead.rows[0].cells[i].querySelector('button').click(); \
         return t.tHead.rows[0].cells[i].getAttribute('aria-sort'); }})()"
    );
    let before = numbers(page.eval(&values));
    assert!(before.len() >= fewest && !before.is_sorted_by(|a, b| a >= b));
    assert_eq!(page.eval(&click), json!("descending"));
    assert!(numbers(page.eval(&values)).is_sorted_by(|a, b| a >= b));
    assert_eq!(page.eval(&click), json!("ascending"));
    assert!(numbers(page.eval(&values)).is_sorted());
}

/// A filter hides what does not fit, and says how many are left.
pub fn filters(page: &mut Page, table: &str, by: &str, value: &str) {
    let filter = format!(
        "(() => {{ const c = document.querySelector('.controls[data-filter={table}]');\
         const s = c.querySelector('select[data-by={by}]'); s.value = '{value}';\
         s.dispatchEvent(new Event('input', {{bubbles: true}}));\
         const rows = [...document.getElementById('{table}').tBodies[0].rows];\
         const shown = rows.filter(r => r.checkVisibility());\
         return [shown.length, rows.length, shown.every(r => r.dataset.{by} === '{value}'),\
           c.querySelector('output').textContent]; }})()"
    );
    let filtered = page.eval(&filter);
    let (shown, all) = (filtered[0].as_u64().unwrap(), filtered[1].as_u64().unwrap());
    assert!(shown > 0 && shown < all && filtered[2] == json!(true), "{filtered}");
    assert_eq!(filtered[3], json!(format!("{shown} of {all} shown")));
}

/// Hovering over the first spot of a chart shows a text with `part` in it.
pub fn says_when_hovered(page: &mut Page, chart: &str, part: &str) {
    let tip = page.eval(&format!(
        "(() => {{ const s = document.querySelector('#{chart} .spot');\
         s.dispatchEvent(new PointerEvent('pointermove', {{clientX: 200, clientY: 200, bubbles: true}}));\
         const t = document.getElementById('tip'); return [t.checkVisibility(), t.textContent]; }})()"
    ));
    assert!(tip[0] == json!(true) && tip[1].as_str().unwrap().contains(part), "{tip}");
}

fn numbers(of: Value) -> Vec<f64> {
    of.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}
