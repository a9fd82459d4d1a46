//! The font of pictures, built in: no machine needs to have one. A part of Inter, under the Open Font License (`font/`).

use super::error::ChartError;
use plotters::style::{FontStyle, register_font};

/// Names as they stand in an SVG, where the viewer's own fonts step in. Widths are measured in the first.
pub(super) const FAMILY: &str = "Inter, system-ui, sans-serif";

pub(super) fn register() -> Result<(), ChartError> {
    let fonts: [(FontStyle, &'static [u8]); 2] = [
        (FontStyle::Normal, include_bytes!("../../font/Inter-Regular.subset.otf")),
        (FontStyle::Bold, include_bytes!("../../font/Inter-SemiBold.subset.otf")),
    ];
    for (style, bytes) in fonts {
        register_font(FAMILY, style, bytes).map_err(|_| ChartError("the built-in font cannot be read".to_string()))?;
    }
    Ok(())
}
