//! Colours: the hues of Okabe and Ito, which people with any colour vision tell apart, darkened until a label in them can
//! be read on white; each with its counterpart on dark ground.

use plotters::style::RGBColor;

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Surface,
    Shade,
    Grid,
    Muted,
    Text,
    Blue,
    Orange,
    Green,
    Vermillion,
    Purple,
    Sky,
    Yellow,
}

/// The ground that a picture lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// White.
    Light,
    /// Near black.
    Dark,
}

impl Ink {
    /// Those that tell quantities apart.
    pub(super) const HUES: [Ink; 7] =
        [Ink::Blue, Ink::Orange, Ink::Green, Ink::Vermillion, Ink::Purple, Ink::Sky, Ink::Yellow];

    const ALL: [Ink; 12] = [
        Ink::Surface,
        Ink::Shade,
        Ink::Grid,
        Ink::Muted,
        Ink::Text,
        Ink::Blue,
        Ink::Orange,
        Ink::Green,
        Ink::Vermillion,
        Ink::Purple,
        Ink::Sky,
        Ink::Yellow,
    ];

    fn pair(self) -> (u32, u32) {
        match self {
            Ink::Surface => (0xFF_FFFF, 0x15_191E),
            Ink::Shade => (0xEE_F1F4, 0x20_262D),
            Ink::Grid => (0xE1_E5E9, 0x2D_343C),
            Ink::Muted => (0x5A_6570, 0xA4_AEB9),
            Ink::Text => (0x1B_1F24, 0xE7_EAED),
            Ink::Blue => (0x00_69A6, 0x5A_B0EA),
            Ink::Orange => (0xB3_6B00, 0xF0_B242),
            Ink::Green => (0x00_7D5C, 0x35_C79C),
            Ink::Vermillion => (0xB8_2E00, 0xFF_7550),
            Ink::Purple => (0xA0_4583, 0xE0_95C3),
            Ink::Sky => (0x3B_8FBF, 0x8F_CDF2),
            Ink::Yellow => (0x7D_7000, 0xE2_D355),
        }
    }

    pub(crate) fn colour(self, theme: Theme) -> RGBColor {
        let (light, dark) = self.pair();
        let [_, r, g, b] = (if theme == Theme::Light { light } else { dark }).to_be_bytes();
        RGBColor(r, g, b)
    }
}

/// Rules that turn a light picture below `scope` into a dark one: its colours are attributes, which style rules outrank.
pub(crate) fn dark_rules(scope: &str) -> String {
    let rule = |ink: &Ink| {
        let (light, dark) = ink.pair();
        let one = |name: &str| format!("{scope} [{name}=\"#{light:06X}\"]{{{name}:#{dark:06X}}}");
        format!("{}{}", one("fill"), one("stroke"))
    };
    Ink::ALL.iter().map(rule).collect()
}
